"""docs/table-format.md is true: the names, fields, defaults and examples in it are those of the code."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.actions.branches import removal
from paimark.core.actions.change import journal, landing
from paimark.core.actions.change.change import Change
from paimark.core.actions.change.driver import CHANGES, change_named
from paimark.core.actions.change.owner import Owner
from paimark.core.actions.context import Context
from paimark.core.actions.garbage import release_pins, sweep
from paimark.core.actions.merge.history import MergeEvent
from paimark.core.actions.plan import Item, Plan, Refusal, Step, Taken
from paimark.core.actions.replace import replace_main_branch
from paimark.core.actions.rewrite import rewrite_main
from paimark.core.actions.roots.barrier import notice
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.actions.tags import rename_tag
from paimark.core.actions.undo import replacement as undo_replacement
from paimark.core.actions.undo import truncation as undo_truncation
from paimark.core.demo.directory import MARKER
from paimark.core.spark.streaming.commit_attempts import Attempt
from paimark.core.spark.streaming.offsets import StreamPosition
from paimark.core.storage.conditions import SCRATCH
from paimark.core.storage.local import LocalFiles
from paimark.core.table import layout
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.operations import CheckResult, Group, Operation, Owed, StreamRun
from paimark.core.table.read_tags import READ_TAG_PREFIX
from paimark.core.table.records import (
    Point,
    Record,
    Savepoint,
    SchemaField,
    Snapshot,
    TableSchema,
    Tag,
)
from tests.actions.acting import ORDERS, context_on, done
from tests.packaging.tables import EDITS, FORMAT, WRITTEN, states, with_fields
from tests.storage.wrapped import Wrapped

PAGE = FORMAT.read_text()
STEPS = {
    *(journal.CHECKED, journal.COMMITTED, journal.NOT_COMMITTED),
    *(sweep.DATA_GONE, sweep.MANIFESTS_GONE, sweep.LISTS_GONE, release_pins.RELEASES),
    *(rewrite_main.TRY, rewrite_main._SAFE, rewrite_main._RECORDED),
    *(replace_main_branch._CLEARING, replace_main_branch._COMPARED, replace_main_branch._CLEARED),
    *(undo_replacement._DROPPED, removal.RESTORED, removal.GOES, removal.STAYS, removal.MARKS),
    *(undo_truncation._TRY, undo_truncation._PUT_BACK, rename_tag.DELETED),
}


def test_the_tables_are_those_of_the_code() -> None:
    assert with_fields(PAGE) == PAGE, "Run `make tables`."


def test_a_new_table_stands_alone_below_its_mark() -> None:
    mark = "<!-- fields: Claim -->\n\n"
    [table] = re.findall(mark + r"((?:\|.*\n)+)", PAGE)
    for behind in ("more\n", ""):
        made = with_fields(mark + behind)
        assert made == f"{mark}{table}" + (f"\n{behind}" if behind else "")
        assert with_fields(made) == made


def test_every_field_has_a_meaning() -> None:
    assert not re.findall(r"^\| `\w+` \| .* \|  \|$", PAGE, re.M)


def test_fields_that_are_described_are_those_that_are_written() -> None:
    assert set(re.findall(r"^<!-- fields: (.*) -->$", PAGE, re.M)) == {*WRITTEN, *states()}


def records(kind: type[Record] = Record) -> Iterator[type[Record]]:
    for each in kind.__subclasses__():
        yield each
        yield from records(each)


def test_every_record_of_ours_is_described() -> None:
    paimons = {Snapshot, Tag, TableSchema, SchemaField}
    ours = {each for each in records() if each.__module__.startswith("paimark.core.")} - paimons
    assert ours <= {*WRITTEN.values(), *states().values()}


def paths(of: object) -> Iterator[str]:
    """Every path that a table's or a root's properties and methods give, with NUL and 7 for what varies."""
    samples: dict[str, object] = {"str": "\0", "int": 7}
    for name, member in inspect.getmembers(type(of)):
        if isinstance(member, property):
            value = getattr(of, name)
            yield from value if isinstance(value, tuple) else (str(value),)
        elif inspect.isfunction(member) and not name.startswith("_"):
            call: Callable[..., object] = getattr(of, name)
            wanted = inspect.signature(call)
            if wanted.return_annotation == "str":
                yield str(call(*(samples[each.annotation] for each in wanted.parameters.values())))


def names_on_disk() -> set[str]:
    """Patterns of the paths below a table, and every name that is put together elsewhere."""
    table = layout.TablePath("\0", "\0")
    given = {path.replace(table.directory, "<t>", 1) for path in paths(table) if "/" in path}
    given |= {path.replace(table.directory, "<root>", 1) for path in paths(table.root()) if "/" in path}
    given |= {table.data_file("", -2, "").replace(table.directory, "<t>")}
    patterns = {re.sub(r"[\x007]", "[^/`]*", path) for path in given if path not in ("<t>", "<root>")}
    names = {value for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
    names |= {SCRATCH, MARKER, READ_TAG_PREFIX, f"{layout.CONSUMER_PREFIX}{landing._READER}<token>"}
    names |= {layout.merge_tag("<branch>", 7)[:-1], layout.truncation_tag("<archive>", 7)[:-1]}
    names |= {landing.commit_user("<token>")}
    return patterns | {re.escape(each) for each in names}


@pytest.mark.parametrize("name", sorted(names_on_disk()))
def test_every_name_on_disk_is_told(name: str) -> None:
    assert re.search(rf"`[^`\n]*{name}[^`\n]*`", PAGE)


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_step_of_a_journal_is_told(step: str) -> None:
    assert f"`{step}`" in PAGE


def test_every_kind_of_change_is_told() -> None:
    [table] = re.findall(r"^<!-- changes -->\n\n((?:\|.*\n)+)", PAGE, re.M)
    cells = re.findall(r"^\| ([^|]+)", table, re.M)
    told = {name for cell in cells for name in re.findall("`([a-z-]+)`", cell)}
    assert told >= {*CHANGES}
    assert told - {*CHANGES} == {
        *(
            "create-savepoint",
            "create-tag",
            "compact",
            "recover",
            "delete-dropped",
        )
    }


def test_versions_and_numbers_are_those_of_the_code() -> None:
    assert f"| journal (`ACTION`) | {journal.VERSION} only" in PAGE
    newest = {kind.newest for kind in (Claim, Savepoint, Operation, MergeEvent, Attempt)}
    assert newest == {1} and "| up to 1 | 1 |" in PAGE
    said = " ".join(PAGE.split())
    assert f"replaces `ALIVE-<token>` every {Context.beat_every:g} s" in said
    assert f"heartbeat is watched for {Context.watch_for:g} s" in said
    assert f"wait {Context.verify_wait:g} s and look again" in said
    for option, value in RETENTION_OFF.items():
        assert f'"{option}": "{value}"' in PAGE


@cache
def examples() -> list[tuple[str, str]]:
    return re.findall(r"^<!-- example: (\S+) -->\n\n```\w+\n(.*?)\n```$", PAGE, re.M | re.S)


def test_every_record_of_a_file_has_an_example() -> None:
    embedded = {
        Owner,
        Plan,
        Item,
        Step,
        Refusal,
        Taken,
        Point,
        *EDITS,
        Group,
        StreamRun,
        Owed,
        StreamPosition,
    }
    embedded |= {CheckResult}
    files = {name for name, kind in WRITTEN.items() if kind not in embedded}
    assert {name for name, _ in examples()} == files | {"Tag", "LATEST", "MAIN-BRANCH", "notice"}
    assert PAGE.count("```json\n") + PAGE.count("```text\n") == len(examples()) + len(orders())


@pytest.mark.parametrize(("name", "text"), examples())
def test_every_example_is_what_the_code_reads_and_writes(name: str, text: str) -> None:
    if name == "notice":
        assert notice("fix_prices").decode() == text + "\n"
    elif name in ("LATEST", "MAIN-BRANCH"):
        assert text == text.strip()
    else:
        kind: Any = {**WRITTEN, "Tag": Tag}[name]
        for record in text.splitlines() if name in ("MergeEvent", "Protected") else [text]:
            decoded: Record = kind.from_json(record.encode(), "the page")
            assert decoded.unknown == {}
            assert json.loads(decoded.to_json()) == json.loads(record)


def test_the_journal_in_the_page_can_be_resumed() -> None:
    [text] = [text for name, text in examples() if name == "Journal"]
    decoded = journal.Journal.from_json(text.encode(), "the page")
    assert decoded.planned().action == decoded.action
    kind: type[Change[Any]] = change_named(decoded.change)
    assert msgspec.to_builtins(msgspec.convert(decoded.state, kind.State)) == decoded.state


class Recorded(Wrapped):
    """A store that says what was written and deleted below a table, with names of chance taken out."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__(LocalFiles(str(warehouse)))
        self.lines: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        created = super().create(path, data)
        if created:
            self._say("create", path, json.loads(data)["step"] if layout.STEP_PREFIX in path else "")
        return created

    def replace(self, path: str, data: bytes) -> None:
        super().replace(path, data)
        self._say("replace", path)

    def delete(self, path: str) -> None:
        if self.exists(path):
            self._say("delete", path)
        super().delete(path)

    def _say(self, verb: str, path: str, step: str = "") -> None:
        name = path.removeprefix("shop.db/orders/")
        for chance, told in (
            (r"\b[0-9a-f]{32}\b", "<token>"),
            (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
            (r"main-\d{8}T\d{6}-[0-9a-f]{6}", "main-<time>-<hex>"),
        ):
            name = re.sub(chance, told, name)
        if verb == "delete":
            name = re.sub(r"(STEP-<token>)-\d+", r"\1-<n>", name)
            # All of a root goes in no particular order, but for its schemas, and then its hints and its mark.
            last = "EARLIEST|LATEST|snapshot-9000000000"
            name = re.sub(rf"^(branch/branch-main-.*)/(tag|snapshot)/(?!{last}).*", r"\1/...", name)
        line = f"{verb:7} {name}" + (f"  {step}" if step else "")
        if line not in self.lines[-1:]:
            self.lines.append(line)


def orders() -> dict[str, str]:
    return dict(re.findall(r"^<!-- order: (\S+) -->\n\n```text\n(.*?)\n```$", PAGE, re.M | re.S))


def test_files_are_written_and_deleted_in_the_order_that_the_page_shows(warehouse: Path) -> None:
    changes: dict[str, dict[str, object]] = {
        "create-savepoint": {},
        "create-branch": {"name": "fix", "tag": "v2"},
        "replace-main-branch": {"name": "fix"},
        "undo": {},
        "delete-savepoint": {"id": 1},
    }
    found = {}
    for name, arguments in changes.items():
        recorded = Recorded(warehouse)
        done(context_on(warehouse, recorded), name, ORDERS, **arguments)
        found[name] = "\n".join(recorded.lines)
    assert found == orders()
