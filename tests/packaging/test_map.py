"""The map is true: docs/architecture.md, docs/glossary.md and CONTRIBUTING.md name what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from paimark.core import errors
from tests.packaging.tables import ARCHITECTURE, GUIDE, with_actions, with_packages

CHECKOUT = Path(__file__).parents[2]
PRODUCT = ["core", "tui", "paimark"]
TOPS = [*PRODUCT, "tests", "benchmarks"]
GLOSSARY = CHECKOUT / "docs/glossary.md"
CONTRIBUTING = CHECKOUT / "CONTRIBUTING.md"
PAGES = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/*.md")])
MOST_MODULES = 14
# Rooms of tests that grew too large. The list may only shrink.
CROWDED = {"benchmarks"}
# What stands between backticks, and the dotted names in it that begin with a folder of ours.
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(
    # Tags are called paimark.merge.<branch>.<id> and the like, and there are properties: no modules.
    rf"(?<![\w./$-])(?!paimark\.(?:merge\.|truncate\.|read\.|(?:apart|message|author)\b))(?:{'|'.join(TOPS)})(?:\.[A-Za-z_]\w*)+(?![\w/-])"
)
IN_FOLDERS = re.compile(rf"(?<![\w./-])(?:{'|'.join([*TOPS, 'docs', 'screenshots'])})/[\w./-]*")


def packages(*tops: str) -> Iterator[tuple[str, Path]]:
    """Each package below these folders: its dotted name, and its folder."""
    for top in tops:
        for init in sorted((CHECKOUT / top).rglob("__init__.py")):
            yield ".".join(init.parent.relative_to(CHECKOUT).parts), init.parent


def sources() -> Iterator[Path]:
    return (path for top in TOPS for path in sorted((CHECKOUT / top).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def in_code(text: str) -> str:
    return "\n".join(CODE.findall(text))


def names_of(node: ast.AST) -> set[str]:
    """What a module or a class defines: functions, classes, what is assigned, what is imported."""
    defined: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                defined.add(name)
            case ast.alias(name=name, asname=other):
                defined.add(other or name)
    return defined


def is_there(dotted: str) -> bool:
    """Whether it is a package, a module, or something that a module defines."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        place, rest = CHECKOUT.joinpath(*parts[:length]), parts[length:]
        source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if place == CHECKOUT / "paimark":
            source = place / "api.py"
        if source.exists():
            return names_of(tree(source)).issuperset(rest) if rest else True
    return False


def test_each_package_says_what_it_is_for() -> None:
    docstrings = {name: ast.get_docstring(tree(place / "__init__.py")) for name, place in packages(*TOPS)}
    assert [name for name, docstring in docstrings.items() if not docstring] == []


def test_each_package_says_with_which_module_to_begin() -> None:
    """Names beside the package's own modules are dotted, and so are those of functions."""
    wrong = list[str]()
    for name, place in packages("core", "tui"):
        docstring = ast.get_docstring(tree(place / "__init__.py")) or ""
        begin = " ".join(each for each in docstring.split("\n\n")[1:] if each.startswith("Begin"))
        named = set(re.findall(r"`([a-z]\w*)(?:\.py)?`", begin)) - {"paimark"}
        wrong += [f"{name}: {each}" for each in named if not is_there(f"{name}.{each}")]
    assert wrong == []


def test_each_package_is_on_the_map() -> None:
    page = ARCHITECTURE.read_text()
    assert with_packages(page) == page, "Run `make tables`."
    assert [name for name, _ in packages(*PRODUCT) if f"| `{name}` |" not in page] == []


def test_each_action_is_in_the_guide() -> None:
    page = GUIDE.read_text()
    assert with_actions(page) == page, "Run `make tables`."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    """Modules, files and folders that stand between backticks, and the targets of links."""
    text = page.read_text()
    assert [name for name in DOTTED.findall(in_code(text)) if not is_there(name)] == []
    assert [path for path in IN_FOLDERS.findall(in_code(text)) if not (CHECKOUT / path).exists()] == []
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_what_the_source_names_is_there() -> None:
    """Docstrings and comments follow when a module moves."""
    stale = [
        f"{path.relative_to(CHECKOUT)}: {name}"
        for path in sources()
        for name in DOTTED.findall(in_code(path.read_text()))
        if not is_there(name)
    ]
    assert stale == []


@pytest.mark.parametrize("package", ["core.actions", "tui"])
def test_packages_import_each_other_in_the_order_of_the_page(package: str) -> None:
    [order] = re.findall(rf"Within `{package}` the order is: ([^.]*)\.", ARCHITECTURE.read_text())
    groups = [re.findall(r"`(\w+)`", group) for group in order.split(";")]
    level = {name: number for number, group in enumerate(groups) for name in group}
    folder = CHECKOUT.joinpath(*package.split("."))
    assert sorted(level) == sorted(each.parent.name for each in folder.glob("*/__init__.py"))
    wrong = {
        f"{name} imports {other}"
        for name in level
        for path in (folder / name).rglob("*.py")
        for other in re.findall(rf"^\s*from paimark\.{package}\.(\w+)", path.read_text(), re.M)
        if other in level and other != name and level[other] <= level[name]
    }
    assert wrong == set()


def test_the_source_names_modules_as_they_are_imported() -> None:
    """Only pages leave out `paimark.`."""
    named = re.compile(r"(?<![\w./$-])(?:core|tui)\.[a-z_]+\.[a-z_]")
    found = [str(path.relative_to(CHECKOUT)) for path in sources() if named.search(path.read_text())]
    assert found == []


def test_each_term_of_the_glossary_names_its_module() -> None:
    rows = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")][2:]
    terms = [row.split("|")[1].strip() for row in rows]
    assert len(terms) > 30
    assert terms == sorted(terms, key=str.casefold)
    assert [row for row in rows if not DOTTED.search(row.rsplit("|", 2)[1])] == []


def test_the_targets_of_make_that_the_pages_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    named = {word for page in PAGES for word in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named and named <= targets


def test_a_folder_holds_as_many_modules_as_one_can_keep_in_mind() -> None:
    counts = {name: len([*place.glob("*.py")]) - 1 for name, place in packages(*TOPS)}
    assert {name for name, count in counts.items() if count > MOST_MODULES} == CROWDED


def test_the_tree_of_errors_has_each_with_its_exit_code() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    told = re.findall(r"(\w+) +([0-9])  ", errors.__doc__ or "")
    expected = {name: kind.exit_code for name, kind in kinds.items() if issubclass(kind, errors.PaimarkError)}
    assert {name: int(code) for name, code in told} == expected
