"""Somebody without a home, as a container's made-up user is: one line, and never a trace."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest
from cli.made import stap


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: object) -> None:
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.parametrize(
    "asked", [["serve"], ["serve", "--install"], ["serve", "--uninstall"], ["top"], ["watch", "--exec", "true"]]
)
def test_who_has_no_home_is_told_what_to_do(asked: list[str]) -> None:
    done = stap(*asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stap: $HOME: not set, and this user has no home; set it, or name a folder with --data\n"


def test_a_home_that_is_nobody_s_is_one_line(tmp_path: Path) -> None:
    done = stap("serve", "--data", tmp_path, "--feed", "folder:~no-such-person/in")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stap: ~no-such-person/in: no such home; write the whole path\n"
