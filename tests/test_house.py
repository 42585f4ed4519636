"""The house holds: imports point one way along the order that docs/design.md draws, and nothing has grown too long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "stap"
MODULES = sorted(SOURCE.rglob("*.py"))
FRONT_DOORS = {"__init__", "__main__"}  # of the package: they open whatever is asked for
NEEDS_TORCH = {"model", "reference", "rivals", "train", "studies", "bench"}
LONGEST = 300  # lines of a module


def order() -> list[str]:
    """The rooms as docs/design.md lists them, each allowed to know those before it."""
    drawn = re.search(r"```\n(errors <.*?)```", (ROOT / "docs" / "design.md").read_text(), re.DOTALL)
    assert drawn, "docs/design.md has lost its order of imports"
    return drawn[1].replace("<", " ").split()


def room(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def module(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[tuple[str, bool]]:
    """(module of ours, whether it is imported at once): also those that `extra` and `import_module` name."""
    tree = ast.parse(path.read_text())
    at_once = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, id(node) in at_once) for name in node.names if name.name.startswith("stap"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stap"):
            yield from ((f"{node.module}.{name.name}", id(node) in at_once) for name in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("extra", "import_module"):
            text = node.args[0]
            if isinstance(text, ast.Constant) and str(text.value).startswith("stap."):
                yield str(text.value), False
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: import by the full name"


def test_every_room_is_drawn() -> None:
    rooms = {room(path) for path in MODULES} - FRONT_DOORS
    assert rooms == set(order())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    if room(path) in FRONT_DOORS:
        return
    rooms = order()
    for name, _ in imported(path):
        parts = name.split(".")
        if len(parts) < 2 or parts[1] in ("_engine", "__version__"):  # the native engine, below everything
            continue
        wanted = parts[1]
        assert wanted in rooms, f"{path}: {name} is no room of the house"
        assert rooms.index(wanted) <= rooms.index(room(path)), f"{path} reaches forward for {name}"


def test_no_module_imports_itself_by_a_detour() -> None:
    names = {module(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        wanted = {name if name in names else name.rpartition(".")[0] for name, at_once in imported(path) if at_once}
        graph[module(path)] = wanted & names - {module(path), "stap"}
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_is_known_where_it_is_needed_only(path: Path) -> None:
    if room(path) in NEEDS_TORCH:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.split(".")[0] == "torch" for name in names), f"{path} imports torch"


@pytest.mark.parametrize("suffix", ["src/stap/**/*.py", "engine/src/**/*.*", "bindings/*.cpp"])
def test_no_module_is_too_long(suffix: str) -> None:
    too_long = {str(path): n for path in ROOT.glob(suffix) if (n := len(path.read_text().splitlines())) > LONGEST}
    assert not too_long


def test_the_walks_and_the_glossary_name_files_that_are_there() -> None:
    for document in ("design.md", "glossary.md"):
        text = (ROOT / "docs" / document).read_text()
        for name in re.findall(r"`([\w/]+\.(?:py|cpp|h|inl))`", text):
            places = (ROOT / name, SOURCE / name, ROOT / "engine" / "src" / "person" / name)
            assert any(place.exists() for place in places), f"{document} names {name}"


def test_documents_fit_a_screen() -> None:
    """Lines of at most 120 characters in every document."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.md")]
    assert len(documents) > 5
    for path in documents:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert len(line) <= 120, f"{path}, line {number}"


def test_documents_link_to_what_is_there() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", path.read_text()):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path} links to {link}"
