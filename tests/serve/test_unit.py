"""The systemd user unit, in a home of its own: written, read back as systemd reads it, removed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.made import call
from typer.main import get_command

from stap.cli import app
from stap.errors import BadInput
from stap.serve import unit


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With what systemd treats specially in its name."""
    home = tmp_path / 'h o%me $HOME "q"'
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def words(line: str) -> list[str]:
    """A command line as systemd.service(5) and systemd.syntax(7) have it read: quotes, escapes, %% and $$."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%").replace("$$", "$") for word in found]


def setting(text: str, name: str) -> str:
    (line,) = re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)
    return str(line)


def test_install_writes_a_unit_that_runs_the_same_command_and_uninstall_removes_it(home: Path) -> None:
    (home / "in").mkdir()
    asked = ["--feed", f"folder:{home / 'in'}", "--port", "0", "--as", "anna", "--zone", "Europe/Berlin"]
    done = call("serve", "--install", *asked)
    assert done.exit_code == 0, done.output
    path = home / ".config/systemd/user/stap.service"
    command = words(setting(path.read_text(), "ExecStart"))
    assert command[:5] == [sys.executable, "-P", "-m", "stap", "serve"]
    given = dict(zip(command[5::2], command[6::2], strict=True))
    assert given["--feed"] == f"folder:{home / 'in'}"
    assert (given["--port"], given["--as"], given["--zone"]) == ("0", "anna", "Europe/Berlin")
    assert "systemctl --user enable --now stap.service" in done.output
    assert call("serve", "--uninstall").exit_code == 0
    assert not path.exists()
    assert not list(path.parent.iterdir())


def test_what_the_unit_runs_is_what_stap_serve_understands(home: Path) -> None:
    """The words of the unit, given to the command line again, write the same unit."""
    call("serve", "--install", "--port", "0", "--memory", "64")
    path = home / ".config/systemd/user/stap.service"
    first = path.read_text()
    assert call(*words(setting(first, "ExecStart"))[4:], "--install").exit_code == 0
    assert path.read_text() == first


def test_every_option_that_was_given_is_in_the_unit(home: Path) -> None:
    log = home / "log.csv"
    log.write_text("")
    given = {
        "--data": str(home / "data"),
        "--port": "9",
        "--model": "pure",
        "--memory": "64",
        "--feed": f"folder:{home}",
        "--as": "anna",
        "--zone": "Europe/Berlin",
        "--speed": "60.0",
    }
    switches = ("--demo", "--no-adapt")
    asked = [word for pair in given.items() for word in pair]
    assert call("serve", "--install", *asked, *switches).exit_code == 0
    command = words(setting(unit.place().read_text(), "ExecStart"))[4:]
    assert {name: command[command.index(name) + 1] for name in given} == given
    assert set(switches) < set(command)
    known = {name for each in get_command(app).commands["serve"].params for name in each.opts}  # type: ignore[attr-defined]
    ends = {"--install", "--uninstall", "--salvage"}
    assert known - ends == {*given, "--demo", "--adapt"}, "a new option goes into the unit too, and into this test"


def test_the_demo_person_is_installed_only_where_they_are_kept(home: Path) -> None:
    assert "say where with --data" in str(call("serve", "--install", "--demo").exception)
    assert not unit.place().exists()


def test_a_feed_that_cannot_be_is_refused_before_anything_is_written(home: Path) -> None:
    done = call("serve", "--install", "--feed", f"folder:{home / 'none'}")
    assert isinstance(done.exception, BadInput)
    assert not (home / ".config").exists()


def test_somebody_else_s_unit_of_this_name_is_left_alone(home: Path) -> None:
    path = unit.place()
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/bin/true\n")
    for command in ("--install", "--uninstall"):
        assert "not written by stap" in str(call("serve", command).exception)
    assert path.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_to_remove_what_is_not_there_says_so(home: Path) -> None:
    assert "nothing has to be done" in str(call("serve", "--uninstall").exception)


def test_the_data_folder_alone_can_be_written_and_only_the_loopback_reached(home: Path) -> None:
    call("serve", "--install")
    text = unit.place().read_text()
    assert words(setting(text, "ReadWritePaths").replace("$", "$$")) == [str(home / ".local/share/stap")]
    for name, value in {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "IPAddressDeny": "any",
        "IPAddressAllow": "localhost",
        "SystemCallFilter": "@system-service",
        "UMask": "0077",
    }.items():
        assert setting(text, name) == value


BOUNDING = (  # what systemd does by dropping capabilities; its user manager fails at that step (218/CAPABILITIES)
    "CapabilityBoundingSet",
    "AmbientCapabilities",
    "PrivateDevices",
    "ProtectClock",
    "ProtectKernelLogs",
    "ProtectKernelModules",
)


def test_the_unit_asks_for_nothing_that_a_person_s_own_systemd_may_not_do(home: Path) -> None:
    text = unit.install([], home / "data", ["adb", "aw:http://192.168.1.7:5600"]).read_text()
    assert not [line for line in text.splitlines() if line.partition("=")[0] in BOUNDING]


@pytest.mark.parametrize(
    ("feed", "loopback", "netlink"),
    [
        ("aw", True, False),
        ("aw:http://127.0.0.1:5600", True, False),
        ("aw:http://localhost.example.org", False, False),
        ("aw:http://192.168.1.7:5600", False, False),
        ("adb", False, True),
    ],
)
def test_a_feed_gets_the_room_that_it_needs(home: Path, feed: str, loopback: bool, netlink: bool) -> None:
    text = unit.install(["--feed", feed], home / "data", [feed]).read_text()
    assert ("IPAddressDeny=any" in text) is loopback
    assert ("AF_NETLINK" in text) is ("/.android" in text) is netlink


def test_a_unit_has_no_standard_input(home: Path) -> None:
    assert "a unit has no standard input" in str(call("serve", "--install", "--feed", "stdin").exception)
    assert not unit.place().exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_itself_finds_nothing_wrong_with_it(home: Path) -> None:
    path = unit.install(["--port", "0", "--feed", "aw"], home / "data")
    done = subprocess.run(["systemd-analyze", "--user", "verify", str(path)], capture_output=True, text=True)
    about = [line for line in (done.stdout + done.stderr).splitlines() if "stap.service" in line]
    assert not about


@pytest.mark.parametrize("word", ["line\nbreak", "tab\there", "\x7f"])
def test_what_would_break_a_line_of_the_unit_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="control character"):
        unit.quoted(word)
