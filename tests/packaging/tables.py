"""`make tables`: write the tables in docs/ that are made from the code.

Those of fields in table-format.md are made from the comments on the fields of records. That of packages in
architecture.md is made from their docstrings, that of actions in guide.md from their declarations, and that
of JSON in configuration.md from what commands print.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from paimark.core.actions.change.driver import CHANGES, change_named
from paimark.core.actions.change.journal import Journal, JournalEntry
from paimark.core.actions.change.owner import Owner
from paimark.core.actions.declared.declaration import Declaration
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.merge.history import MergeEvent
from paimark.core.actions.plan import Item, Plan, Refusal, Step, Taken
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.cli import browse
from paimark.core.cli.checks import check, space
from paimark.core.cli.checks.doctor import Finding
from paimark.core.cli.checks.verify import FindingRow
from paimark.core.cli.query import diff, questions
from paimark.core.config import ConfigFile, OwnCommand, WarehouseContext
from paimark.core.space.report import SpaceRow
from paimark.core.spark.streaming.commit_attempts import Attempt
from paimark.core.spark.streaming.consumers import StreamConsumer
from paimark.core.spark.streaming.offsets import StreamPosition
from paimark.core.table.lineage.edits import (
    Edits,
    HistoryEdit,
    MadeEdit,
    MainEdit,
    MovedRoot,
    RowsEdit,
    SchemaEdit,
)
from paimark.core.table.lineage.protected import Protected
from paimark.core.table.operations import CheckResult, Group, Operation, Owed, StreamRun
from paimark.core.table.records import Consumer, Point, Savepoint
from paimark.core.table.system_tables import system_table

_CHECKOUT = Path(__file__).parents[2]
FORMAT, ARCHITECTURE = _CHECKOUT / "docs/table-format.md", _CHECKOUT / "docs/architecture.md"
CONFIGURATION, GUIDE = _CHECKOUT / "docs/configuration.md", _CHECKOUT / "docs/guide.md"
EDITS = (Edits, MainEdit, MovedRoot, RowsEdit, HistoryEdit, MadeEdit, SchemaEdit)
_KINDS: tuple[type[msgspec.Struct], ...] = (
    *(
        Journal,
        JournalEntry,
        Owner,
        Plan,
        Item,
        Step,
        Refusal,
        Taken,
        Point,
        Consumer,
        Group,
        Claim,
        Savepoint,
    ),
    *(
        Operation,
        MergeEvent,
        Protected,
        Attempt,
        StreamConsumer,
        StreamPosition,
        StreamRun,
        Owed,
        CheckResult,
    ),
    *EDITS,
)
# What the config file may hold.
CONFIGURED: dict[str, type[msgspec.Struct]] = {
    kind.__name__: kind for kind in (ConfigFile, WarehouseContext, OwnCommand)
}
# What is written, by the name that the page gives it.
WRITTEN: dict[str, type[msgspec.Struct]] = {kind.__name__: kind for kind in _KINDS}
_TYPES = {"Int": "integer", "Float": "number", "Str": "string", "Bool": "boolean", "None": "null"}
_TYPES |= {"Dict": "object", "Struct": "object", "List": "array", "VarTuple": "array", "Literal": "string"}
_TABLE = re.compile(r"(?<=^<!-- fields: )(.*)( -->\n\n)(?:(?:\|.*\n)+(?:\n|\Z))?", re.M)
_PACKAGES = re.compile(r"^<!-- packages -->\n\n(?:\|.*\n)*", re.M)
_JSON = re.compile(r"^<!-- json -->\n\n(?:(?:\|.*\n)+\n)?", re.M)
_ACTIONS = re.compile(r"^<!-- actions -->\n\n(?:(?:\|.*\n)+\n)?", re.M)
_HEAD = "| field | type | default | meaning |\n|---|---|---|---|\n"


def states() -> dict[str, type[msgspec.Struct]]:
    """The state of each kind of change that has one of its own, under the first such kind."""
    first: dict[type[msgspec.Struct], str] = {}
    for name in CHANGES:
        first.setdefault(change_named(name).State, name)
    return {f"state of {name}": state for state, name in first.items() if state not in (*EDITS, Operation)}


def with_fields(page: str) -> str:
    """The page with each table as the code has it, also a new one below its mark.

    `KeyError`: it describes what is not written.
    """
    kinds = {**WRITTEN, **CONFIGURED, **states()}
    page = _TABLE.sub(lambda found: f"{found[1]}{found[2]}{_table(kinds[found[1]])}\n", page)
    return page.removesuffix("\n") if page.endswith("|\n\n") else page


def with_packages(page: str) -> str:
    """The page with the table of packages: what each is for, and with which module to begin."""
    packages = sorted(path.parent for top in ("core", "paimark", "tui") for path in _inits(_CHECKOUT / top))
    rows = "".join(
        f"| `{'.'.join(each.relative_to(_CHECKOUT).parts)}` | {_purpose(each)} |\n" for each in packages
    )
    return _PACKAGES.sub(
        lambda _: f"<!-- packages -->\n\n| package | what it is for |\n|---|---|\n{rows}", page
    )


def with_json(page: str) -> str:
    """The page with the fields of the objects that each command prints with `--output json`."""
    lists = {
        "tables": browse.TABLE_COLUMNS,
        "tables --dropped": browse.DROPPED_COLUMNS,
        **{
            name: [column.name for column in system_table(name).columns]
            for name in ("snapshots", "savepoints", "branches", "tags", "schemas", "operations")
        },
        "when": questions.FOUND,
        "when --all": questions.EACH,
        "history": questions.CHANGES,
        "blame": questions.COMMITS,
        "holders": questions.HOLDERS,
        "check": check.NAMES,
        "diff, with a key": diff.KEYED,
        "diff, without one": diff.COUNTED,
        "diff --summary": diff.SUMMARY,
        "space": SpaceRow.__struct_fields__,
        "space --buckets": space.BUCKET_COLUMNS,
        "verify": FindingRow._fields,
        "doctor": Finding._fields,
    }
    rows = "".join(f"| `{name}` | {', '.join(fields)} |\n" for name, fields in lists.items())
    return _JSON.sub(lambda _: f"<!-- json -->\n\n| command | fields |\n|---|---|\n{rows}\n", page)


def with_actions(page: str) -> str:
    """The page with every action as it is declared: what it does, its options, its key."""
    rows = "".join(
        f"| `{each.name}` | {each.summary} {each.more}".rstrip() + f" | {_options(each)} | {_key(each)} |\n"
        for each in DECLARED.values()
    )
    head = "<!-- actions -->\n\n| action | what it does | options | key |\n|---|---|---|---|\n"
    return _ACTIONS.sub(lambda _: f"{head}{rows}\n", page)


def _options(action: Declaration) -> str:
    """First those that it needs; the others in brackets."""
    given = sorted(action.arguments, key=lambda each: not each.required)
    return ", ".join(f"`{each.option}`" if each.required else f"[`{each.option}`]" for each in given)


def _key(action: Declaration) -> str:
    return f"`{action.key.key}`" if action.key else ""


def _inits(top: Path) -> Iterator[Path]:
    return (path for path in top.rglob("__init__.py") if not path.relative_to(_CHECKOUT).parent.is_symlink())


def _purpose(package: Path) -> str:
    """Of the docstring the first paragraph, and the next if it names modules to begin with."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    first, *others = (" ".join(each.split()) for each in docstring.split("\n\n"))
    return " ".join([first, *(each for each in others[:1] if each.startswith("Begin"))])


def _table(kind: type[msgspec.Struct]) -> str:
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    meanings = {name: text for each in reversed(kind.__mro__) for name, text in _meanings(each).items()}
    return _HEAD + "".join(
        f"| `{field.encode_name}` | {_type(field.type)} | {_default(field)} | {meanings[field.name]} |\n"
        for field in info.fields
        if field.encode_name != "_unknown"
    )


def _type(kind: msgspec.inspect.Type) -> str:
    if isinstance(kind, msgspec.inspect.UnionType):
        return " or ".join(map(_type, kind.types))
    if isinstance(kind, msgspec.inspect.Metadata):
        return _type(kind.type)
    return _TYPES[type(kind).__name__.removesuffix("Type")]


def _default(field: msgspec.inspect.Field) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    text = json.dumps(msgspec.to_builtins(value))
    return text if text == "null" else f"`{text}`"


@cache
def _meanings(kind: type) -> dict[str, str]:
    """The comment on each field that the class itself declares: behind it, or in the lines above it."""
    if not kind.__module__.startswith("paimark."):
        return {}
    lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    [body] = ast.parse("\n".join(lines)).body
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: _comment(lines, field)
        for field in body.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }


def _comment(lines: list[str], field: ast.AnnAssign) -> str:
    found = [lines[(field.end_lineno or field.lineno) - 1][field.end_col_offset :].strip()]
    for line in reversed(lines[: field.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        found.insert(0, line.strip())
    return " ".join(each.removeprefix("#").strip() for each in found if each)


if __name__ == "__main__":
    FORMAT.write_text(with_fields(FORMAT.read_text()))
    GUIDE.write_text(with_actions(GUIDE.read_text()))
    CONFIGURATION.write_text(with_json(with_fields(CONFIGURATION.read_text())))
    ARCHITECTURE.write_text(with_packages(ARCHITECTURE.read_text()))
