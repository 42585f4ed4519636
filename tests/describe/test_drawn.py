"""A figure told as data: every kind of mark that studies draw, with the values that were drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stap.describe.canvas import drawing, plain


def told(tmp_path: Path, draw: Any, charts: int = 1) -> dict[str, Any]:
    with drawing(tmp_path / "figure.json", (6, 4), "What it shows.") as figure:
        draw(*figure.subplots(1, charts, squeeze=False)[0])
    found = json.loads((tmp_path / "figure.json").read_text())
    assert found["explained"] == "What it shows."
    chart: dict[str, Any] = found["charts"][0]
    return chart


def test_lines_points_and_levels_keep_their_values_and_names(tmp_path: Path) -> None:
    def draw(axes: Any) -> None:
        axes.plot([1, 2, 4], [0.5, 0.25, 1 / 3], "--", color="#0072b2", label=plain("$cheap"))
        axes.plot([1, 2, 4], [1, 2, float("nan")], "--", color="#0072b2")
        axes.plot([3], [4], "s", color="#d55e00", markerfacecolor="white", gid="aside")
        axes.axhline(5.0, color="red", label="bound")
        axes.axvline(2.0, color="red")
        axes.plot([], [], ":", color="black", label="nothing to see")
        axes.set_xscale("log", base=2)
        axes.set(title="Title", xlabel="x", ylabel="y", ylim=(0, 6))

    chart = told(tmp_path, draw)
    assert (chart["title"], chart["x"]["scale"], chart["y"]["limits"]) == ("Title", "log", [0.0, 6.0])
    first, again, aside, bound, upright = chart["series"]
    assert first == {
        "kind": "line",
        "label": "$cheap",
        "colour": "#0072b2",
        "x": [1.0, 2.0, 4.0],
        "y": [0.5, 0.25, 0.333333],
        "dash": "--",
        "again": False,
    }
    assert (again["label"], again["again"], again["y"]) == ("$cheap", True, [1.0, 2.0, None])
    assert (aside["kind"], aside["label"], aside["mark"], aside["hollow"]) == ("points", "aside", "s", True)
    assert (bound["kind"], bound["at"], bound["label"]) == ("level", 5.0, "bound")
    assert (upright["kind"], upright["at"]) == ("upright", 2.0)


def test_bars_stand_and_lie_and_deviations_stay_beside_their_points(tmp_path: Path) -> None:
    def draw(axes: Any) -> None:
        axes.bar([0, 1], [3, 4], 0.5, color="#009e73", label="standing")
        axes.barh(2, 7, height=0.6, color="#009e73")
        axes.errorbar([1, 2], [10, 20], [0.5, 1.5], fmt="o-", color="#cc79a7", label="mean", capsize=3)
        axes.errorbar(30, 3, xerr=2.0, fmt="s", color="#0072b2")
        axes.set_yticks([0, 1], ["first", "second"])

    chart = told(tmp_path, draw)
    standing, lying, mean, flat = chart["series"]
    assert (standing["x"], standing["y"], standing["thick"]) == ([0.0, 1.0], [3.0, 4.0], [0.5, 0.5])
    assert (lying["x"], lying["y"], lying["flat"]) == ([7.0], [2.0], True)
    assert (mean["label"], mean["y"], mean["deviation"], mean["along"]) == ("mean", [10.0, 20.0], [0.5, 1.5], "y")
    assert (flat["deviation"], flat["along"]) == ([2.0], "x")
    assert chart["y"]["names"] == [[0.0, "first"], [1.0, "second"]]


def test_of_a_great_many_points_the_medians_are_told(tmp_path: Path) -> None:
    chart = told(tmp_path, lambda axes: axes.plot(range(4000), [n % 10 for n in range(4000)], "."))
    assert len(chart["series"][0]["x"]) == 400
    assert set(chart["series"][0]["y"]) == {4.5}
