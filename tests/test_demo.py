"""The bundled log, and its replay."""

from __future__ import annotations

from pathlib import Path

from stap.demo.person import LOG, write_log
from stap.demo.replay import frames
from stap.events import merged
from stap.predictors import make
from stap.sources import read


def test_the_bundled_log_is_what_its_person_did(tmp_path: Path) -> None:
    write_log(tmp_path / "phone.csv")
    assert (tmp_path / "phone.csv").read_bytes() == LOG.read_bytes()


def test_a_replay_asks_after_every_close_but_the_last() -> None:
    corpus = merged(read([LOG]).table)
    played = list(frames(corpus, 0, make("previous")))
    assert len(played) == len(corpus.app) - 1
    second = played[1]  # by `previous`, only the app before is known
    first_two = [corpus.apps[0][code] for code in corpus.app[:2].tolist()]
    assert second.closed == first_two[1]
    assert second.ranking[0][0] == first_two[0]
    assert second.place == (1 if second.came == first_two[0] else None)
