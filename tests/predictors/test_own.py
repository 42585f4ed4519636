"""A predictor that somebody brings: the README's example, and all that can be wrong with one, in one line each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.made import call, started, write

from stap.errors import BadInput
from stap.events import OPEN, Event, Moment
from stap.predictors.own import Own, load

README = (Path(__file__).parents[2] / "README.md").read_text()
EXAMPLE = re.search(r"### Your own predictor in the same table\n(.*?)\n## ", README, re.DOTALL)
LOG = Path(__file__).parents[2] / "src/stap/demo/phone.csv"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.parquet", *(("u", app) for app in "abac"))


@pytest.mark.slow
def test_the_readme_s_example_word_for_word(tmp_path: Path) -> None:
    assert EXAMPLE
    (mine, compared), command = re.findall(r"```python\n(.*?)```", EXAMPLE[1], re.DOTALL), None
    (command,) = re.findall(r"```\n(stap .*?)\n```", EXAMPLE[1])
    (tmp_path / "mine.py").write_text(mine)
    assert started("import", LOG, "-o", "my.parquet", cwd=tmp_path).returncode == 0
    done = started(*command.split()[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {words[0]: words[1:] for line in done.stdout.splitlines() if (words := line.split())}
    assert float(rows["mine:Favourites"][0]) < float(rows["markov"][0]) < float(rows["stap"][0])
    ran = subprocess.run([sys.executable, "-c", compared], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "Favourites" in ran.stdout


def test_two_processes_find_it_too(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert EXAMPLE
    (tmp_path / "favourite_apps.py").write_text(re.findall(r"```python\n(.*?)```", EXAMPLE[1], re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = []
    for jobs in ("1", "2"):
        done = call("evaluate", log, "--predictors", "favourite_apps:Favourites,mfu", "--jobs", jobs)
        assert done.exit_code == 0, done.exception
        found.append(done.output)
    assert found[0] == found[1]
    assert "favourite_apps:Favourites" in found[0]


class Answers:
    """Says whatever it was given to say."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def observe(self, event: Event) -> None: ...

    def rank(self, k: int, at: Moment | None = None) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([("a", 0.2), ("b", 0.6)], "'b' with 0.6 comes after 0.2; sort by probability"),
        ([("a", float("nan"))], "'a' has the probability nan; give one from 0 to 1"),
        ([("a", "much")], "'a' has the probability 'much'"),
        ([("a", 1.5)], "'a' has the probability 1.5"),
        ([("a", -0.1)], "'a' has the probability -0.1"),
        ([("a", 0.5), ("a", 0.5)], "rank lists 'a' twice"),
        ([("z", 0.5)], "rank lists 'z', which was never opened"),
        ([(["a"], 0.5)], "rank lists ['a'], which was never opened"),
        ([("a", 0.3), ("b", 0.2), ("c", 0.1)], "rank(2) gave 3 apps"),
        (None, "rank gave None; give a list of (app, probability)"),
        ("ab", "rank gave 'ab'"),
        (["a", "b"], "rank gave ['a', 'b']"),
    ],
)
def test_a_ranking_that_is_none_is_one_line(answer: Any, why: str) -> None:
    predictor = Own(lambda: Answers(answer), "mine").of("Ann")
    for app in "abc":
        predictor.observe(Event(app, OPEN, 0.0, 0.0))
    with pytest.raises(BadInput, match=r"^mine: after 3 events of 'Ann': ") as refused:
        predictor.rank(2)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_right_ranking_passes_as_it_is() -> None:
    predictor = Own(lambda: Answers([("b", 0.5), ("a", 0.5)]), "mine").of("")
    for app in "ab":
        predictor.observe(Event(app, OPEN, 0.0, 0.0))
    assert predictor.rank(2) == [("b", 0.5), ("a", 0.5)]


BROKEN = """
import no_such_thing_at_all
"""
ODD = """
value = 3

class Deaf:
    def rank(self, k, at=None): return []

class Needy:
    def __init__(self, size): ...

class Fails:
    def observe(self, event): raise ValueError("too\\nmuch")
    def rank(self, k, at=None): return []

class Timeless:
    def observe(self, event): ...
    def rank(self, k): return []
"""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_module_of_mine:It", "no module no_module_of_mine here; go to the folder of no_module_of_mine.py"),
        ("broken_one:It", "broken_one needs no_such_thing_at_all, which is not installed"),
        ("bad_syntax:It", "importing bad_syntax raised SyntaxError"),
        ("leaves:It", "importing leaves raised SystemExit"),
        ("odd_ones:Nothing", "odd_ones has no Nothing; look into"),
        ("odd_ones:value", "value is no class"),
        ("odd_ones:Deaf", "no predictor: it has no observe; a predictor has observe(event)"),
        ("odd_ones:Needy", "making one raised TypeError"),
        ("odd_ones:", "'odd_ones:' is not MODULE:CLASS"),
        ("../odd:It", "'../odd:It' is not MODULE:CLASS"),
        (":It", "':It' is not MODULE:CLASS"),
    ],
)
def test_a_module_or_class_that_will_not_do_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    _modules(tmp_path, monkeypatch)
    with pytest.raises(BadInput) as refused:
        load(name)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("odd_ones:Fails", "after 1 events of 'u': observe raised ValueError (too); mend it"),
        ("odd_ones:Timeless", "its rank takes no moment; write rank(self, k, at=None), or add --protocol stream"),
    ],
)
def test_what_goes_wrong_on_the_way_ends_the_command_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path, name: str, why: str
) -> None:
    _modules(tmp_path, monkeypatch)
    done = call("evaluate", log, "--predictors", f"markov,{name}")
    assert isinstance(done.exception, BadInput)
    assert why in str(done.exception)


def test_who_takes_no_moment_can_be_scored_at_each_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    _modules(tmp_path, monkeypatch)
    assert call("evaluate", log, "--predictors", "odd_ones:Timeless", "--protocol", "stream").exit_code == 0


def test_a_file_of_this_folder_takes_no_other_module_s_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _modules(tmp_path, monkeypatch)
    (tmp_path / "colorsys.py").write_text("raise SystemExit")
    with pytest.raises(BadInput, match="colorsys has no It"):
        load("colorsys:It")


def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    for name, text in {"broken_one": BROKEN, "odd_ones": ODD, "bad_syntax": "def", "leaves": "exit(3)"}.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
