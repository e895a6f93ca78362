"""Which kinds of tables have DELETE, UPDATE and MERGE, and that `docs/tables.md` says the same."""

from __future__ import annotations

from typing import get_args

import pytest

from paimark.core.table.definition.kinds import refusals
from paimark.core.table.definition.row_changes import Command, change_rules
from paimark.core.table.records import TableSchema
from tests.table.definition.test_table_kinds import DOCS, schema
from tests.wording import about

_PARTIAL = {"merge-engine": "partial-update"}
_EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
_SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
EXAMPLES = {
    "append tables": [schema(keys=())],
    "deletion vectors without keys": [schema({"deletion-vectors.enabled": "true"}, keys=())],
    "row tracking": [schema({"row-tracking.enabled": "true", "bucket": "-1"}, keys=())],
    "the newest row of a key": [schema(), schema({"bucket": "-1"})],
    "partial update": [schema(_PARTIAL), schema({**_PARTIAL, "fields.v.sequence-group": "k"})],
    "partial update that deletes": [
        schema({**_PARTIAL, "partial-update.remove-record-on-delete": "true"}),
        schema({**_PARTIAL, "partial-update.remove-record-on-sequence-group": "v"}),
    ],
    "aggregation": [schema(_SUMS)],
    "aggregation that deletes": [schema({**_SUMS, "aggregation.remove-record-on-delete": "true"})],
    "tables that ignore deletes": [
        schema({"ignore-delete": "true"}),
        schema({**_PARTIAL, "partial-update.ignore-delete": "true"}),
    ],
    "row kinds in a column": [schema({"rowkind.field": "s"}, s="STRING")],
    "data evolution": [schema(_EVOLVES, keys=())],
    "data evolution with columns in files of their own": [
        schema(_EVOLVES, keys=(), s="BLOB"),
        schema({**_EVOLVES, "vector.file.format": "json"}, keys=()),
    ],
    "rows that are seen once they are compacted": [
        schema({"merge-engine": "first-row"}),
        schema({"deletion-vectors.enabled": "true"}),
        schema({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}),
    ],
}


def _documented() -> dict[str, list[str]]:
    table = DOCS.read_text().partition("| kind of table | known by | DELETE | UPDATE | MERGE | how |")[2]
    lines = [line.split("|") for line in table.partition("\n\n")[0].splitlines()[2:]]
    return {cells[1].strip(): [cell.strip() for cell in cells[3:6]] for cells in lines}


def _allowed(definition: TableSchema) -> list[str]:
    commands: tuple[Command, ...] = get_args(Command)
    return [
        "refused" if refusals(definition) or change_rules(definition, each) else "works" for each in commands
    ]


def test_the_documentation_shows_what_each_kind_allows() -> None:
    documented = _documented()
    assert documented.keys() == EXAMPLES.keys()
    for name, definitions in EXAMPLES.items():
        for definition in definitions:
            assert _allowed(definition) == documented[name], name


@pytest.mark.parametrize(
    ("options", "command", "reason", "hint"),
    [
        (_PARTIAL, "delete", ("deletes", "merge-engine", "partial-update"), "remove-record-on-delete"),
        (_SUMS, "merge", ("MERGE", "merge-engine", "aggregation"), "INSERT INTO"),
        ({"ignore-delete": "true"}, "delete", ("ignores", "ignore-delete"), "'false'"),
        ({"rowkind.field": "v"}, "update", ("column", "rowkind.field", "v"), "-D"),
    ],
)
def test_the_sentence_names_the_option(
    options: dict[str, str], command: Command, reason: tuple[str, ...], hint: str
) -> None:
    [refusal] = change_rules(schema(options), command)
    assert about(*reason).search(refusal.reason) and hint in refusal.hint
