"""Pieces of the page: a table, a chart, a result. Each figure leads to the file and the command it comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stap.published import MARK, PAPER
from stap.report.exports import chart_csv, table_csv, table_latex
from stap.report.html import Html, joined, tag
from stap.report.results import Result
from stap.report.svg import draw
from stap.terminal import Grid

NUMBER = re.compile(r"(= )?[-+−<]? ?[\d,]*\.?\d+([eE][-+]?\d+)?( ±.*| %|%| \[.*\])?")
WORD = 8  # letters: what is no longer stands where a figure would
SHORT = 24  # letters: what is longer are words, which wrap
HALF = 66  # letters for which half of the page is wide enough
NOTHING = "This file has neither tables nor a figure for a reader."
THEIRS = "paper"  # the source of what was published


@dataclass
class Folder:
    """What a report writes besides its page, gathered while the page is made."""

    files: dict[str, str | bytes] = field(default_factory=dict)
    points: list[list[dict[str, Any]]] = field(default_factory=list)  # of every chart

    def add(self, path: str, content: str | bytes) -> str:
        self.files[path] = content
        return path


@dataclass(frozen=True)
class Source:
    """Where figures come from: an anchor on the page, and words."""

    name: str
    said: str

    @property
    def anchor(self) -> str:
        return f"from-{self.name}"


PUBLISHED = Source(THEIRS, f"{MARK}: {PAPER}")


def source(result: Result) -> Source:
    return Source(result.name, f"{result.file.name}: {result.command or 'no command in it'}")


def table(grid: Grid, where: Source, number: int, folder: Folder) -> Html:
    stem = f"tables/{where.name}-{number}"
    links = (
        tag("a", "CSV", href=folder.add(f"{stem}.csv", table_csv(grid))),
        tag("a", "LaTeX", href=folder.add(f"{stem}.tex", table_latex(grid, where.said))),
        tag("a", "source", href=f"#{where.anchor}"),
    )
    theirs = where is PUBLISHED or MARK in grid.title.lower()
    heads = [
        tag("th", name, scope="col", class_="n" if _figures(grid, at) else None) for at, name in enumerate(grid.headers)
    ]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(_cell(str(cell), where) for cell in row[1:]),
            class_="theirs" if theirs or MARK in str(row[0]) else None,
        )
        for row in grid.rows
    ]
    whole = tag(
        "table", tag("caption", _badge(theirs), grid.title), tag("thead", tag("tr", *heads)), tag("tbody", *body)
    )
    return tag(
        "figure",
        tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=grid.title or "table"),
        tag("figcaption", *(_sentence(grid.caption)), tag("span", *_between(links), class_="links")),
        class_=f"table{' theirs' if theirs else ''}{' wide' if _width(grid) > HALF else ''}",
        data_said=where.said,
    )


def _figures(grid: Grid, column: int) -> bool:
    """Whether there are any in it; the first one names the rows."""
    return column > 0 and any(NUMBER.fullmatch(str(row[column])) for row in grid.rows)


def _cell(words: str, where: Source) -> Html:
    if not NUMBER.fullmatch(words):
        return tag(
            "td",
            words.replace("± ", "±\xa0"),
            class_="w" if len(words) > SHORT else "n" if len(words) <= WORD else None,
        )
    return tag("td", tag("a", words.replace("± ", "±\xa0"), href=f"#{where.anchor}", tabindex="-1"), class_="n")


def _width(grid: Grid) -> int:
    """Letters side by side, and what lies between columns; words and the rows' names may wrap."""
    columns = [[str(cell) for cell in column] for column in zip(grid.headers, *grid.rows, strict=True)]
    return sum(min(SHORT, max(map(len, column))) + 3 for column in columns)


def _badge(theirs: bool) -> Html:
    return tag("span", MARK, class_="badge") if theirs else Html("")


def _sentence(words: str) -> tuple[object, ...]:
    return (tag("span", words), " ") if words.strip() else ()


def _between(links: tuple[Html, ...]) -> Sequence[object]:
    return [part for link in links for part in (" · ", link)][1:]


def chart(told: Any, where: Source, number: int, folder: Folder) -> Html:
    drawn = draw(told, len(folder.points))
    folder.points.append(drawn.points)
    values = folder.add(f"figures/{where.name}-{number}.csv", chart_csv(told))
    links = (tag("a", "CSV", href=values), tag("a", "source", href=f"#{where.anchor}"))
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("strong", told["title"]) if told["title"] else "",
            tag("span", *_between(links), class_="links"),
        ),
        drawn.chart,
        drawn.legend,
        class_="chart",
        data_said=where.said,
    )


def result(found: Result, folder: Folder) -> Html:
    """A study: its question, tables, figure, and where they come from."""
    where = source(found)
    question = found.provenance.get("question") or found.name
    tables = [table(grid, where, number, folder) for number, grid in enumerate(found.tables, 1)]
    charts = [chart(told, where, number, folder) for number, told in enumerate(found.charts, 1)]
    return tag(
        "article",
        tag("h3", tag("span", found.study, class_="study"), " ", str(question)),
        tag("div", *tables, class_="tables") if tables else "",
        tag("div", *charts, class_="charts") if charts else "",
        "" if tables or charts else tag("p", NOTHING, class_="missing"),
        tag("p", found.explained, class_="explained") if found.explained else "",
        _from(found, where, folder),
        id=f"result-{found.name}",
    )


def _from(found: Result, where: Source, folder: Folder) -> Html:
    """The file and the command."""
    copied = folder.add(f"results/{found.name}.json", found.said)
    told = found.provenance
    when = [f"{key} {told[key]}" for key in ("version", "revision") if told.get(key)]
    when += [str(told[key]) for key in ("finished", "machine") if told.get(key)]
    when += [f"{told['seconds']:,.0f} s of work"] if isinstance(told.get("seconds"), int | float) else []
    return tag(
        "p",
        "From ",
        tag("a", found.file.name, href=copied),
        joined((": ", tag("code", found.command))) if found.command else "",
        tag("br"),
        tag("small", "; ".join(when)),
        class_="source",
        id=where.anchor,
    )
