"""Feeds: where a running server gets events by itself. Each module knows one place to look; `making.py` names them.

All of them read with `stap.sources`. Every event's id comes from what it says, so that whatever is sent twice, late or
after a restart is there once.
"""
