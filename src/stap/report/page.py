"""The page: the paper's tables and figures with ours beside them, everything else that was measured, methods,
deviations, and where every figure comes from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from stap import __version__
from stap.published import PAPER
from stap.report import blocks
from stap.report.blocks import PUBLISHED, Folder
from stap.report.deviations import CHOICES, NOT_AT_HAND, SLIPS
from stap.report.html import Html, joined, tag
from stap.report.methods import TERMS
from stap.report.paper import PARTS, Part
from stap.report.results import Result

TITLE = "STAP: what was measured"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"  # nothing comes from elsewhere


def page(results: Sequence[Result], folder: Folder) -> str:
    """The whole of it; what lies beside it is put into the folder."""
    used = {result.name for part in PARTS for result in _of(part, results)}
    further = [result for result in results if result.name not in used]
    sections: dict[str, tuple[str, Html]] = {}
    published = 0
    for part in PARTS:
        sections[part.name] = part.title, _part(part, _of(part, results), published, folder)
        published += len(part.tables)  # their files are numbered over all parts
    if further:
        sections["further"] = "Beyond the paper", joined(blocks.result(result, folder) for result in further)
    sections["methods"] = "Methods", _methods(results, folder)
    sections["deviations"] = "Deviations from the paper", _deviations(folder)
    body = joined(
        tag("section", tag("h2", title), inside, id=name, class_="page" if name in ("methods", "deviations") else None)
        for name, (title, inside) in sections.items()
    )
    return "<!doctype html>\n" + tag(
        "html",
        tag("head", *_head()),
        tag(
            "body",
            tag("a", "Skip to the results", href="#main", class_="skip"),
            _banner(results),
            _contents({name: title for name, (title, _) in sections.items()}),
            tag("main", body, id="main"),
            tag("div", id="tip", role="status", hidden=True),
            tag("script", Html(_data(folder.points)), type="application/json", id="points"),
            tag("script", Html(_own("page.js"))),
        ),
        lang="en",
    )


def _head() -> list[Html]:
    return [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", TITLE),
        tag("style", Html(_own("page.css"))),
    ]


def _own(name: str) -> str:
    return (files("stap.report") / name).read_text("utf-8")


def _data(points: Any) -> str:
    """JSON in which no element can end."""
    return json.dumps(points, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _banner(results: Sequence[Result]) -> Html:
    latest = max((str(result.provenance.get("finished", "")) for result in results), default="")
    of = "1 result file" if len(results) == 1 else f"{len(results)} result files"
    said = f"Made by stap {__version__} from {of}" + (f", the latest of {latest}." if latest else ".")
    return tag(
        "header",
        tag("h1", TITLE),
        tag("p", said, " Point at a figure for its value and where it comes from; click it to go there."),
        tag("button", "Dark or light", type="button", id="theme"),
    )


def _contents(titles: Mapping[str, str]) -> Html:
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title in titles.items()]
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _of(part: Part, results: Sequence[Result]) -> list[Result]:
    return [result for study in part.studies for result in results if result.study == study]


def _part(part: Part, ours: Sequence[Result], before: int, folder: Folder) -> Html:
    said = [tag("p", tag("span", "the paper", class_="badge"), " ", words) for words in part.said]
    theirs = [blocks.table(grid, PUBLISHED, before + number, folder) for number, grid in enumerate(part.tables, 1)]
    charts = [blocks.chart(told, PUBLISHED, number, folder) for number, told in enumerate(part.charts, 1)]
    missing = tag("p", "Not among these results. To run it: ", tag("code", part.command), class_="missing")
    return joined(
        (
            *said,
            tag("div", *theirs, class_="tables") if theirs else "",
            tag("div", *charts, class_="charts") if charts else "",
            *([blocks.result(result, folder) for result in ours] or [missing]),
        )
    )


def _methods(results: Sequence[Result], folder: Folder) -> Html:
    terms = [part for name, words in TERMS for part in (tag("dt", name), tag("dd", words))]
    return joined((tag("dl", *terms), _list_of(results)))


def _list_of(results: Sequence[Result]) -> Html:
    """Which files, about whom, by which command."""
    rows = [
        tag(
            "tr",
            tag("th", tag("a", result.name, href=f"#result-{result.name}"), scope="row"),
            tag("td", str(result.provenance.get("scale", ""))),
            tag("td", _about(result.provenance)),
            tag("td", tag("code", result.command)),
        )
        for result in results
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("result", "scale", "about whom", "command")))
    whole = tag("table", tag("caption", "Every result file"), tag("thead", head), tag("tbody", *rows))
    theirs = tag("p", "As published: ", tag("cite", PAPER), class_="source", id=PUBLISHED.anchor)
    scroll = tag("div", whole, class_="scroll words", tabindex="0", role="region", aria_label="Every result file")
    return joined((tag("figure", scroll, class_="table"), theirs))


def _about(provenance: Mapping[str, Any]) -> str:
    """People with the fingerprint of their logs, seeds, and the model's."""
    data, said = provenance.get("data"), []
    if isinstance(data, dict):
        for name, logs in data.items():
            what = f" ({logs.get('logs')}, {logs.get('fingerprint')})" if isinstance(logs, dict) else ""
            said.append(f"{name}{what}")
    for key in ("model", "seeds"):
        if provenance.get(key):
            value = provenance[key]
            said.append(f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return "; ".join(said)


def _deviations(folder: Folder) -> Html:
    here = blocks.Source("deviations", "docs/results/reproduction.md")
    slips = [tag("li", tag("strong", name), ": ", words) for name, words in SLIPS]
    return joined(
        (
            blocks.table(CHOICES, here, 0, folder),
            tag("h3", "Slips of the paper"),
            tag("ul", *slips),
            tag("p", NOT_AT_HAND),
            tag("p", f"From {here.said} of the project.", class_="source", id=here.anchor),
        )
    )
