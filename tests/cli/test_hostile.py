"""Whatever is given to the command line: one clear line, nothing that commands a terminal, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from polars.exceptions import PanicException

from cli.made import GOOD, call
from stap.cli import UNEXPECTED, commands, main
from stap.errors import BadInput

NAMES = ["[/x]", r"$\frac$", "[bold]", "\x1b[31mred", "\u202egpj.exe", "é█微信", "$^$", "a\u2066b"]


def log(path: Path, *users: str) -> Path:
    """Eighty usages of each user."""
    path.parent.mkdir(exist_ok=True)
    times = [f"2024-05-01 {8 + n // 30:02d}:{n % 30:02d}" for n in range(80)]
    rows = [f"{user},{NAMES[n % len(NAMES)]},{time}:00,{time}:30\n" for user in users for n, time in enumerate(times)]
    path.write_text("user,app,start,end\n" + "".join(rows))
    return path


def stap(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return shell('exec "$@"', sys.executable, "-m", "stap", *map(str, arguments), **environment)


def usual() -> dict[str, str]:
    """The environment, with output that is kept until it is flushed: without a buffer no flush fails."""
    odd = ("RUST_BACKTRACE", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in odd}


def shell(line: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a shell of its own, under a cap on memory: what is hostile may drain a device."""
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v 8000000; {line}", "sh", *arguments],
        capture_output=True, env=usual() | environment, stdin=subprocess.DEVNULL, timeout=120, check=False,
    )  # fmt: skip
    return subprocess.CompletedProcess(line, done.returncode, *(part.decode() for part in (done.stdout, done.stderr)))


def shown(done: subprocess.CompletedProcess[str]) -> None:
    """Nothing in it commands a terminal, and nothing is a trace."""
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    assert not any(char in text for char in "\x1b\u202e\u2066")


def refused(done: subprocess.CompletedProcess[str], words: str, code: int = 2) -> None:
    shown(done)
    assert done.returncode == code
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_names_that_are_markup_formulas_or_orders_are_only_names(tmp_path: Path) -> None:
    """Of files, users and apps, in tables, charts, notes and figures."""
    one = log(tmp_path / "d$^$[" / "x]$_$.csv", "$^$")
    many = log(tmp_path / "many.csv", "$^$", "[/y]$_$", "\x1b[2J")
    for arguments in (
        ("describe", one, "--figure", tmp_path / "$^$.png"),
        ("describe", one, many, "--figure", tmp_path / "[x].png", "--json", tmp_path / "[x].json"),
        ("describe", one, many, "--figure", tmp_path / "f.png"),
        ("evaluate", many, "--by-user", "--predictors", "mfu,previous"),
        ("predict", one, "--predictor", "mfu"),
        ("predict", one, "--predictor", "mfu", "--json"),
        ("import", many, "-o", tmp_path / "\x1b[31m.csv"),
        ("import", one, many, "--same-users", "-o", tmp_path / "[bold]o.parquet"),
    ):
        done = stap(*arguments)
        shown(done)
        assert done.returncode == 0, done.stderr
    refused(stap("predict", many, "--predictor", "mfu"), r"choose one with --user (\x1b[2J, $^$, [/y]$_$)")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_terminal_that_cannot_encode_a_letter_or_a_bar(tmp_path: Path, encoding: str) -> None:
    log(tmp_path / "log.csv", "é微")
    env = os.environ | {"PYTHONIOENCODING": encoding}
    for arguments in (["predict", "log.csv", "--predictor", "mfu"], ["describe", "log.csv"], ["--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "stap", *arguments], capture_output=True, env=env, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        text = (done.stdout + done.stderr).decode(encoding)
        assert "Traceback" not in text
        if arguments[0] == "predict":
            assert r"\u5fae\u4fe1" in text, "a name stays readable"
            assert "#" in text or "█" in text, "and a bar a bar"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("evaluate LOG --predictors mfu > /dev/full", 2, "stap: output: No space left on device; check the place"),
        ("predict LOG --predictor mfu --json > /dev/full", 2, "stap: output: No space left on device"),
        ("import LOG -o out.csv > /dev/full", 2, "stap: output: No space left on device"),
        ("--version > /dev/full", 2, "stap: output: No space left on device"),
        ("evaluate LOG --predictors mfu 2> /dev/full", 0, ""),
        ("evaluate nothing 2> /dev/full", 2, ""),
        ("evaluate LOG --predictors mfu >&-", 0, ""),
        ("evaluate nothing >&- 2>&-", 2, ""),
        ("import - -o out.csv <&-", 2, "stap: standard input: it is closed"),
        ("import - -o out.csv", 2, "stap: standard input: the file is empty"),
    ],
)
def test_output_that_goes_nowhere_and_input_that_is_not_there(tmp_path: Path, line: str, code: int, words: str) -> None:
    log(tmp_path / "log.csv", "u")
    done = shell(f'cd {tmp_path}; "{sys.executable}" -m stap {line.replace("LOG", "log.csv")}')
    shown(done)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stderr.count("\n") <= 1


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", *map(str, range(300)))
    done = shell(f'"{sys.executable}" -m stap evaluate {path} --predictors mfu --by-user | head -n 1')
    assert done.stderr == ""
    assert "protocol" in done.stdout


PRINTS = """
import sys
from stap.cli import commands

def brought():
    print("words of its own")
    sys.exit(int(sys.argv[1]))

commands.command_line = lambda asked: brought
commands.main()
"""


@pytest.mark.parametrize(
    ("place", "code", "end", "words"),
    [
        ("full", 0, 2, "stap: output: No space left on device; check the place and its disk\n"),
        ("full", 3, 3, ""),
        ("left", 0, 1, ""),
        ("left", 3, 1, ""),
    ],
)
def test_what_others_printed_goes_nowhere_without_a_trace(place: str, code: int, end: int, words: str) -> None:
    """Our own words are flushed one by one. Those of a predictor that is brought may wait until the very end."""
    read, write = os.pipe()
    os.close(read)
    with open("/dev/full", "wb") as full, os.fdopen(write, "wb") as left:
        streams = {"full": full, "left": left}
        command = [sys.executable, "-c", PRINTS, str(code)]
        done = subprocess.run(command, stdout=streams[place], stderr=subprocess.PIPE, env=usual(), check=False)
    assert (done.returncode, done.stderr.decode()) == (end, words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("describe", "LOG", "--figure", "FOLDER"), "cannot write here (it is a folder)"),
        (("describe", "LOG", "--figure", "FOLDER/x.png", "--json", "FOLDER"), "cannot write here (it is a folder)"),
        (("evaluate", "LOG", "--predictors", "mfu", "--json", "FOLDER"), "cannot write here (it is a folder)"),
        (("import", "LOG", "-o", "/nowhere/x.csv"), "cannot write here (No such file or directory)"),
        (("import", "\udcff", "-o", "FOLDER/x.csv"), r"\udcff: no such file"),
        (("import", "/dev/zero", "-o", "FOLDER/x.csv"), "/dev/zero: neither a file nor a pipe"),
        (("predict", "LOG", "--model", "/dev/zero"), "/dev/zero: cannot read it (it is no regular file)"),
        (("predict", "LOG", "--model", "\udcff"), r"\udcff: no possible file name"),
        (("export", "/dev/zero", "-o", "FOLDER/x"), "/dev/zero: cannot read it (it is no regular file)"),
        (("evaluate", "LOG", "--predictors", "gbdt", "--ranker", "/dev/zero"), "it is no regular file"),
        (("train", "--data", "LOG", "--out", "FOLDER/run", "--config", "/dev/zero"), "it is no regular file"),
        (("train", "--data", "LOG", "--out", "FOLDER/run", "--config", "DIGITS"), "not TOML"),
        (("train", "--data", "LOG", "--out", "FOLDER/run", "--split", "1:" + "9" * 5000), "is not a split"),
    ],
)
def test_places_that_are_none(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    log(tmp_path / "log.csv", "u")
    (tmp_path / "digits.toml").write_text("seed = " + "9" * 5000)
    places = {"LOG": str(tmp_path / "log.csv"), "FOLDER": str(tmp_path), "DIGITS": str(tmp_path / "digits.toml")}
    given = [word.replace(name, place) for word in arguments for name, place in [_place(word, places)]]
    refused(stap(*given), words)


def _place(word: str, places: dict[str, str]) -> tuple[str, str]:
    return next(((name, place) for name, place in places.items() if word.startswith(name)), (" ", " "))


def test_a_file_whose_name_is_no_text_is_read_and_written(tmp_path: Path) -> None:
    source, target = (tmp_path / os.fsdecode(name) for name in (b"\xff\xfe.csv", b"\xfe.csv"))
    source.write_text(GOOD)
    for out in (target, target.with_suffix(".parquet")):
        assert call("import", source, "-o", out).exit_code == 0
        assert call("import", out, "-o", tmp_path / "again.csv").exit_code == 0


@pytest.mark.slow
def test_a_person_without_a_pause_is_compared_with_the_prior(tmp_path: Path) -> None:
    """No gap between sessions is known of somebody who never stopped."""
    rows = [f"u,app {n % 7},2024-05-01 {8 + n // 60:02d}:{n % 60:02d}:00\n" for n in range(240)]
    path = tmp_path / "log.csv"
    path.write_text("user,app,start\n" + "".join(rows))
    done = call("describe", path, "--prior", "20", "--figure", tmp_path / "f.png")
    assert done.exit_code == 0, done.exception


def fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """A command that ends so."""

    def failing() -> None:
        raise error

    monkeypatch.setattr(commands, "command_line", lambda asked: failing)
    monkeypatch.setattr(sys, "argv", ["stap", "describe", "secret.csv"])
    main()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            ZeroDivisionError("by\nzero \x1b"),
            UNEXPECTED,
            "stap describe: unexpected ZeroDivisionError: by; please report it with this line; "
            "STAP_TRACE=1 shows the whole trace\n",
        ),
        (MemoryError(), 70, "stap describe: unexpected MemoryError: ; please report it with this line; STAP_TRACE=1"),
        (PanicException("oh"), 70, "stap describe: unexpected PanicException: oh; please report it"),
        (KeyboardInterrupt(), 130, ""),
        (OSError(28, "No space left"), 2, "stap: output: No space left; check the place and its disk\n"),
        (PermissionError(13, "Denied", "a\x1b"), 2, "stap: a\\x1b: Denied; check the place and its disk\n"),
        (BadInput("log", "it is\nbad", "mend it"), 2, "stap: log: it is\\nbad; mend it\n"),
    ],
)
def test_a_failure_of_any_kind_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    words: str,
) -> None:
    with pytest.raises(SystemExit) as end:
        fail(monkeypatch, error)
    assert end.value.code == code
    said = capsys.readouterr().err
    assert said.startswith(words)
    assert said.count("\n") == bool(words)
    monkeypatch.setenv("STAP_TRACE", "1")
    with pytest.raises(type(error)):
        fail(monkeypatch, error)
