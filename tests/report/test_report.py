"""From result files to a folder: what is read, what is refused, what lies beside the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from cli.made import call, stap

from report.made import EVIL, axis, result, write
from stap.errors import BadInput
from stap.published import MARK, PUBLISHED, PUBLISHED_ABLATION, PUBLISHED_MODELS, SOLVED_PREVIOUS
from stap.report import build
from stap.report.deviations import CHOICES, SLIPS
from stap.report.exports import latex, table_csv
from stap.report.paper import PARTS, performance
from stap.report.results import read
from stap.report.scale import Scale
from stap.report.svg import COLOURS
from stap.terminal import Grid

ROOT = Path(__file__).parents[2]


def test_a_folder_s_results_are_found_and_named_apart(tmp_path: Path) -> None:
    write(tmp_path / "a" / "result.json", result())
    write(tmp_path / "a" / "jobs" / "x.json", "{}")
    write(tmp_path / "b" / "a" / "result.json", result())
    write(tmp_path / "Odd name!.json", result())
    write(tmp_path / "study.json", "{}")
    assert [found.name for found in read([tmp_path])] == ["odd-name", "a", "a-2"]


def test_a_report_has_each_table_as_csv_and_latex_and_the_result_files_themselves(tmp_path: Path) -> None:
    file = write(tmp_path / "mine" / "result.json", result())
    written = build([tmp_path / "mine"], tmp_path / "out")
    assert written[0] == tmp_path / "out" / "index.html"
    assert (tmp_path / "out/results/mine.json").read_bytes() == file.read_bytes()
    with open(tmp_path / "out/tables/mine-1.csv", newline="") as table:
        assert list(csv.reader(table)) == [
            ["who", "HR@1", "how"],
            ["mfu", "18.48", "x"],
            [EVIL, "31.20 ± 0.10", "a & b_c, 50 %"],
        ]
    tex = (tmp_path / "out/tables/mine-1.tex").read_text()
    assert tex.startswith("% result.json: stap study mine --out a\n")
    assert r"    mfu & 18.48 & x \\" in tex
    assert r"31.20 $\pm$ 0.10 & a \& b\_c, 50 \% \\" in tex
    with open(tmp_path / "out/figures/mine-1.csv", newline="") as values:
        rows = list(csv.reader(values))
    assert rows[0] == ["series", "epoch", "loss", "deviation"]
    assert rows[1:4] == [["training", "1.0", "0.5", ""], ["training", "2.0", "", ""], ["training", "4.0", "0.25", ""]]
    assert rows[-1] == ["chance", "", "0.4", ""]


def test_the_page_is_one_file_and_every_link_in_it_leads_somewhere(tmp_path: Path) -> None:
    write(tmp_path / "mine" / "result.json", result())
    page = build([tmp_path / "mine"], tmp_path / "out")[0].read_text()
    assert EVIL not in page
    assert not re.search(r'(src|href)="(https?:)?//', page)
    assert not re.search(r"url\((?!#)", page)
    anchors = set(re.findall(r' id="([^"]+)"', page))
    links = set(re.findall(r' href="([^"]+)"', page))
    assert "results/mine.json" in links
    for link in links:
        assert link[1:] in anchors if link.startswith("#") else (tmp_path / "out" / link).is_file(), link
    assert '<td class="n"><a href="#from-mine" tabindex="-1">18.48</a></td>' in page
    assert "<code>stap study mine --out a</code>" in page


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("{", "damaged: no JSON"),
        ("[" * 100_000, "damaged: no JSON"),
        ([], "no result of ours"),
        (result(tables=3), "tables: 3 is no list"),
        (result(tables=[{"headers": ["a"], "rows": [["1", "2"]]}]), "more or fewer cells"),
        (result(tables=[{"headers": ["a"], "rows": [[1]]}]), "1 where words belong"),
        (result(tables=[{"headers": ["a"], "rows": [["x"]] * 5001}]), "5,001 rows, more than 5,000"),
        (result(figure={"charts": [{"x": axis("", 1, 2), "y": {}, "series": []}]}), "values: None is no list"),
        (result(figure={"charts": [{"x": axis("", 0, 2, scale="log"), "y": axis("", 0, 1), "series": []}]}), "no axis"),
        (result(figure={"charts": [{"x": axis("", 1, 2), "y": axis("", 0, 1), "series": [{"kind": "pie"}]}]}), "'pie'"),
        (
            result(
                figure={
                    "charts": [
                        {"x": axis("", 1, 2), "y": axis("", 0, 1), "series": [{"kind": "line", "x": [1], "y": []}]}
                    ]
                }
            ),
            "more of one coordinate",
        ),
        (
            result(figure={"charts": [{"x": axis("", 1, 2, names=[3]), "y": axis("", 0, 1), "series": []}]}),
            "3 is no list",
        ),
        (
            '{"figure": {"charts": [{"x": {"scale": "linear", "limits": [0, 1e999]}, "series": []}]}}',
            "inf where a number belongs",
        ),
    ],
)
def test_a_file_that_is_no_result_is_one_line(tmp_path: Path, told: Any, why: str) -> None:
    path = write(tmp_path / "odd.json", told)
    with pytest.raises(BadInput, match=re.escape(str(path))) as refused:
        build([path], tmp_path / "out")
    assert why in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_it_wrote_and_what_it_lacks(tmp_path: Path) -> None:
    write(tmp_path / "results" / "mine" / "result.json", result())
    done = stap("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "wrote report/index.html (0.1 MB) and" in done.stdout
    nothing = call("report", tmp_path / "nothing")
    assert isinstance(nothing.exception, BadInput)
    (tmp_path / "empty").mkdir()
    empty = call("report", tmp_path / "empty")
    assert "no result file; name result.json files" in str(empty.exception)
    blocked = call("report", tmp_path / "results", "--out", tmp_path / "results" / "mine" / "result.json")
    assert "choose another --out" in str(blocked.exception)


def test_what_was_published_is_always_marked() -> None:
    for part in PARTS:
        for grid in part.tables:
            assert MARK in grid.headers[0], grid.title
    stap_row = performance()[0].rows[-1]
    assert stap_row == ("STAP", "68.95 ± 0.07", "85.19 ± 0.08", "90.55 ± 0.05", "76.20 ± 0.07", "77.43 ± 0.06")


def test_a_study_s_own_table_of_published_figures_is_marked_too(tmp_path: Path) -> None:
    title = "As published, of others"
    tables = [{"title": title, "headers": ["", "HR@1"], "rows": [["STAP", "= +1.51 [-1.75, +5.08]"]]}]
    page = build([write(tmp_path / "mine.json", result(tables=tables))], tmp_path / "out")[0].read_text()
    assert f'<caption><span class="badge">{MARK}</span>{title}</caption>' in page
    assert '<a href="#from-mine" tabindex="-1">= +1.51 [-1.75, +5.08]</a>' in page


def test_published_figures_agree_with_each_other() -> None:
    """MRR@3 = P2/2 + P3/3 with HR@3 = P2 + P3: solved again from the MRU rows. A metric never falls with k."""
    for people, rows in PUBLISHED.items():
        _, three, five, reciprocal, _ = rows["mru"]
        second = 6 * (reciprocal - three / 3)
        assert SOLVED_PREVIOUS[people][0] == pytest.approx(second, abs=0.06)
        assert SOLVED_PREVIOUS[people][1] == pytest.approx(three + (five - three) * 0.6, abs=0.5)
    models = [
        row for rows in (*PUBLISHED.values(), *PUBLISHED_MODELS.values(), PUBLISHED_ABLATION) for row in rows.values()
    ]
    for one, three, five, reciprocal, deeper in models:
        assert one <= three <= five
        assert one <= reciprocal <= deeper <= five


def test_deviations_are_those_of_the_document() -> None:
    words = " ".join((ROOT / "docs/results/reproduction.md").read_text().split())
    for row in CHOICES.rows:
        assert f"| {' | '.join(map(str, row))} |" in words
    for name, slip in SLIPS:
        assert f"**{name}**" in words
        assert slip.removesuffix(".") in words


def test_words_that_a_spreadsheet_or_latex_would_compute_are_only_words() -> None:
    grid = Grid("t", ("a", "b"), [("=1+1", "-5.0"), ("-", "+2.10")])
    assert table_csv(grid) == "a,b\n'=1+1,-5.0\n-,+2.10\n"
    assert latex("\\input{x}$_^~#") == r"\textbackslash{}input\{x\}\$\_\textasciicircum{}\textasciitilde{}\#"


def test_ticks_by_hand() -> None:
    def ticks(low: float, high: float, scale: str = "linear", base: float = 10.0) -> list[str]:
        told = {"label": "", "scale": scale, "base": base, "limits": [low, high], "names": []}
        return [name for _, name in Scale(told, 0, 100).ticks()]

    assert ticks(0, 1) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert ticks(5303, 5351) == ["5,310", "5,320", "5,330", "5,340", "5,350"]
    assert ticks(12, 512, "log", 2.0) == ["16", "32", "64", "128", "256", "512"]
    assert ticks(1e-6, 1, "log") == ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"]
    assert ticks(3, 30, "log") == ["5", "10", "20"]
    halfway = Scale({"scale": "log", "limits": [1, 100], "names": [], "base": 10.0}, 0, 100)
    assert (halfway.at(10), halfway.at(0), halfway.at(None)) == (50.0, None, None)


def test_colours_of_our_figures_can_be_seen_in_dark_and_light() -> None:
    """The page has a dark and a light one of those it knows; any other has to stand out from both grounds."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    charts = [
        (found.name, chart)
        for found in read([Path(__file__).parents[2] / "docs" / "results"])
        for chart in found.charts
    ]
    own = {(name, each["colour"].lower()) for name, chart in charts for each in chart["series"]}
    for name, colour in sorted(own):
        if colour not in COLOURS:
            assert 1.05 / (light(colour) + 0.05) > 2.2, f"{name}: {colour} on white"
            assert (light(colour) + 0.05) / (light("#12171c") + 0.05) > 2.2, f"{name}: {colour} on dark"
