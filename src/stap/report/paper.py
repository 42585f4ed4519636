"""The paper's tables and figures, part by part, each with the studies whose results stand beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stap.published import (
    ELSEWHERE,
    ENGINE,
    MARK,
    METRICS,
    PUBLISHED,
    PUBLISHED_ABLATION,
    PUBLISHED_MODELS,
    PUBLISHED_SPREAD,
    SOLVED_PREVIOUS,
    Row,
)
from stap.terminal import Grid

SETTINGS = {  # trained -> tested: of whom the simple predictors' rows are
    "Tsinghua -> LSApp": "LSApp",
    "LSApp -> Tsinghua": "Tsinghua",
    "in Tsinghua": "Tsinghua",
    "in LSApp": "LSApp",
}
NONE = "n/a"
LOOKS = {
    "MFU": {"colour": "#8a96a3", "mark": "o"},
    "MRU": {"colour": "#8a96a3", "mark": "s"},
    "previous, solved": {"colour": "#d55e00", "mark": "D"},
    "CoSEM": {"colour": "#cc79a7", "mark": "^"},
    "NeuSA": {"colour": "#009e73", "mark": "s"},
    "MAPLE": {"colour": "#22303f", "mark": "o"},
    "STAP": {"colour": "#0072b2", "mark": "o"},
}


@dataclass(frozen=True)
class Part:
    """What the paper has on one question, and the studies that answer it here."""

    name: str
    title: str
    studies: tuple[str, ...]
    said: tuple[str, ...]  # what the paper says of it
    tables: tuple[Grid, ...] = ()
    charts: tuple[dict[str, Any], ...] = ()
    command: str = ""  # how to run it here


def performance() -> list[Grid]:
    """Table 4: a table for each setting."""
    grids = []
    for setting, people in SETTINGS.items():
        rows = [(name.upper(), *_figures(row)) for name, row in PUBLISHED[people].items()]
        solved = [f"{value:.1f}" for value in SOLVED_PREVIOUS[people]]
        rows.append(("previous, solved from the MRU row", *solved, *[""] * (len(METRICS) - len(solved))))
        models = PUBLISHED_MODELS[setting]
        if "CoSEM" not in models:
            rows += [(name, *[NONE] * len(METRICS)) for name in ("CoSEM", "NeuSA", "MAPLE")]
        for name, row in models.items():
            spread = PUBLISHED_SPREAD[setting] if name == "STAP" else None
            rows.append((name, *_figures(row, spread)))
        grids.append(Grid(f"Table 4, {setting}", (f"predictor, {MARK}", *METRICS), rows, "Paper protocol, percent."))
    return grids


def hits() -> dict[str, Any]:
    """HR@1 of table 4 at a glance, as `describe/drawn.py` would tell it."""
    found: dict[str, dict[float, float]] = {}
    for place, (setting, people) in enumerate(SETTINGS.items()):
        rows = {name.upper(): row for name, row in PUBLISHED[people].items()} | PUBLISHED_MODELS[setting]
        for name, row in ({"previous, solved": SOLVED_PREVIOUS[people]} | rows).items():
            found.setdefault(name, {})[float(place)] = row[0]
    plain = {"kind": "points", "dash": "", "along": "", "again": False, "hollow": False, "flat": False}
    series = [
        {**plain, "label": name, "x": [*at.values()], "y": [*at], "deviation": [], "thick": [], **LOOKS[name]}
        for name, at in found.items()
    ]
    x = {"label": "HR@1, percent", "scale": "linear", "base": 10.0, "limits": [-2.0, 100.0], "names": []}
    names = [(float(place), setting) for place, setting in enumerate(SETTINGS)]
    y = {"label": "", "scale": "linear", "base": 10.0, "limits": [3.5, -0.5], "names": names}
    return {"title": f"HR@1 of table 4, {MARK}", "x": x, "y": y, "series": series}


def ablation() -> Grid:
    base, other = PUBLISHED_MODELS["Tsinghua -> LSApp"]["STAP"], PUBLISHED_ABLATION["non-shuffle"]
    lost = tuple(a - b for a, b in zip(base, other, strict=True))
    rows = [("STAP (base)", *_figures(base)), ("non-shuffle", *_figures(other)), ("lost, computed", *_figures(lost))]
    said = "Tsinghua -> LSApp, percent. The paper prints 6.47 for the first loss: a slip."
    return Grid("Table 5, the shuffle left out", (f"variant, {MARK}", *METRICS), rows, said)


def elsewhere() -> Grid:
    rows = [
        (f"{each.people}, {each.predictor}", *(f"{hit:.1f}" for hit in each.hits), each.remark) for each in ELSEWHERE
    ]
    said = "Protocols differ from the paper's and from each other."
    return Grid("Other publications", (f"people, predictor, {MARK}", *METRICS[:3], "how"), rows, said, ("how",))


def _figures(row: Row, spread: Row | None = None) -> tuple[str, ...]:
    if spread is None:
        return tuple(f"{value:.2f}" for value in row)
    return tuple(f"{value:.2f} ± {half:.2f}" for value, half in zip(row, spread, strict=True))


DATA = Grid(
    "Table 1, data sets",
    (f"data set, {MARK}", "users", "apps"),
    (("Tsinghua App Usage", "871", "2,000"), ("LSApp", "292", "87")),
)
SPLITS = Grid(
    "Table 2, users in each split",
    (f"trained on, tested on, {MARK}", "training", "validation", "test", "as computed"),
    (
        ("Tsinghua -> LSApp", "677", "169", "292", "677, 169, 292"),
        ("LSApp -> Tsinghua", "58", "234", "846", "234, 58, 846"),
        ("in Tsinghua", "592", "169", "85", "592, 85, 169"),
        ("in LSApp", "204", "29", "58", "204, 29, 58"),
    ),
    "Two rows have two columns swapped.",
)
SIZES = Grid(
    "Table 3, sizes and training",
    (f"setting, {MARK}", "value"),
    (
        ("latent dimension", "256"),
        ("heads", "4"),
        ("layers", "8"),
        ("hidden dimension", "512"),
        ("base of the rotary embedding", "100,000"),
        ("optimiser", "AdamW"),
        ("learning rate", "0.0003"),
        ("epochs", "1,200"),
    ),
    "Here: preset `paper`, the same values.",
)
LATENCY = Grid(
    "The paper's engine",
    (f"engine, {MARK}", *ENGINE),
    (("C++, one thread, no SIMD, fp32", *ENGINE.values()),),
    "Over a session of more than 3,300 events.",
)
PEOPLE = "--lsapp FILE --tsinghua FILE"
PARTS = (
    Part(
        "people",
        "People and their logs",
        ("data",),
        ("Figure 4: most people have fewer than 200 distinct apps, and fewer than 4,096 events.",),
        (DATA, SPLITS, SIZES),
        command=f"stap study data {PEOPLE} --out results/data",
    ),
    Part(
        "accuracy",
        "Accuracy across and within data sets",
        ("performance", "rivals", "cold-start", "evaluate"),
        (
            "Zero-shot STAP comes near rivals that were trained on the same data set. They cannot rank an app that "
            "training did not have, so across data sets there is no figure for them.",
        ),
        (*performance(), elsewhere()),
        (hits(),),
        command=f"stap study performance {PEOPLE} --out results/performance",
    ),
    Part(
        "shuffle",
        "The shuffle left out",
        ("ablation",),
        ("Figure 5: the base model takes over 1,000 epochs; without the shuffle it overfits from about epoch 25.",),
        (ablation(),),
        command=f"stap study ablation {PEOPLE} --out results/ablation",
    ),
    Part(
        "context",
        "Context length",
        ("context",),
        ("Figure 6: from 16 to 16,384 events, doubling. All metrics grow with the length; gains fade after 4,096.",),
        (),
        command=f"stap study context {PEOPLE} --out results/context",
    ),
    Part(
        "engine",
        "The engine",
        ("deployment", "latency"),
        ("Figure 7: the latency of each event is a sawtooth, from the caches that are cleared in turn.",),
        (LATENCY,),
        command="stap study deployment --log NAME=LOG --model pure --out results/deployment",
    ),
    Part(
        "training",
        "How it learns",
        ("dynamics", "plateau"),
        (
            "Figure 8: the loss stays at 5.31 to 5.35 (chance is ln 200 = 5.30) for about 10 epochs, then falls to 3.5 "
            "to 4.0 within 5; HR@1 goes from 0.5 to about 40 percent.",
            "Figure 9: the epoch at which the loss reaches 5.0 grows with the logarithm of the context length, "
            "R² = 0.95.",
        ),
        (),
        command=f"stap study dynamics {PEOPLE} --out results/dynamics",
    ),
    Part(
        "theory",
        "Proposition 1",
        ("theory",),
        ("With a context that grows, who does not know the shuffle comes to predict like who does.",),
        (),
        command="stap study theory --out results/theory",
    ),
)
