"""The bundled log, and its replay."""

from __future__ import annotations

from pathlib import Path

from stap.demo.person import LOG, write_log
from stap.demo.replay import frames
from stap.events import AT_ONCE, from_table
from stap.predictors import make
from stap.sources import read


def test_the_bundled_log_is_what_its_person_did(tmp_path: Path) -> None:
    write_log(tmp_path / "phone.csv")
    assert (tmp_path / "phone.csv").read_bytes() == LOG.read_bytes()


def test_a_replay_asks_at_every_launch_but_the_first() -> None:
    """`again` has the app used last first after a pause, and second otherwise: so it is asked at the launch's time."""
    corpus = from_table(read([LOG]).table)
    played = list(frames(corpus, 0, make("again")))
    assert len(played) == len(corpus.app) - 1
    assert [now.came for now in played] == [corpus.apps[0][code] for code in corpus.app[1:].tolist()]
    for now in played[5:50]:
        assert (now.ranking[0][0] == now.closed) == (now.pause > AT_ONCE)
        assert now.place == next((n for n, (app, _) in enumerate(now.ranking, 1) if app == now.came), None)


def test_the_person_of_the_bundled_log_returns_as_people_do() -> None:
    """After a pause, and never at once."""
    played = list(frames(from_table(read([LOG]).table), 0, make("mfu")))
    returns = [now.pause > AT_ONCE for now in played if now.came == now.closed]
    paused = sum(now.pause > AT_ONCE for now in played)
    assert all(returns)
    assert 0.3 < len(returns) / paused < 0.5
