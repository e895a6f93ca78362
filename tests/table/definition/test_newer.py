"""What came with a later Paimon is refused with its version, and what nobody here knows without one."""

from __future__ import annotations

import pytest

from paimark.core.table.definition.kinds import compaction_refusals, refusals
from tests.table.definition.test_table_kinds import schema
from tests.wording import about


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"file.format": "Row"}, "(file.format = row, of Paimon 2.0)"),
        ({"file.format": "lance"}, "(file.format = lance, of Paimon 1.2 (paimon-lance))"),
        ({"file.format": "later"}, "(file.format = later)"),
        ({"file.format.per.level": "0:avro, 5:vortex"}, "(file.format.per.level = vortex, of Paimon 2.0"),
        ({"changelog-file.format": "mosaic"}, "(changelog-file.format = mosaic, of Paimon 2.0"),
        ({"primary-key.nullable": "true"}, "(primary-key.nullable = true, of Paimon 2.1)"),
        ({"pk-btree.index.columns": "v"}, "(pk-btree.index.columns is set, of Paimon 2.0)"),
        (
            {"merge-engine": "aggregation", "fields.v.nested-sequence-field": "s"},
            "(fields.v.nested-sequence-field is set, of Paimon 2.0)",
        ),
        ({"merge-engine": "partial-update", "fields.v.new": "s"}, "(fields.v.new is set)"),
    ],
)
def test_what_is_not_written_is_named_with_its_version(options: dict[str, str], told: str) -> None:
    assert [each.reason for each in refusals(schema(options)) if told in each.reason], told
    assert [each.reason for each in compaction_refusals(schema(options)) if told in each.reason], told


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("GEOMETRY(OGC:CRS84) NOT NULL", "GEOMETRY, of Paimon 2.1)"),
        ({"type": "MAP NOT NULL", "key": "INT", "value": "GEOGRAPHY(x, y)"}, "GEOGRAPHY, of Paimon 2.1)"),
        ({"type": "ROW", "fields": [{"id": 7, "name": "f", "type": "QUATERNION(4)"}]}, "QUATERNION)"),
        ({"type": "TENSOR", "element": "INT"}, "TENSOR)"),
    ],
)
def test_so_are_types(kind: object, told: str) -> None:
    for found in (refusals(schema(x=kind)), compaction_refusals(schema(x=kind))):
        [refusal] = found
        assert about("Paimon 1.4", "not", f"(column x is {told}").search(refusal.reason)


def test_every_type_of_paimon_1_4_is_known() -> None:
    atoms = """
        CHAR(3); VARCHAR(3); STRING; BOOLEAN; BINARY(3); VARBINARY(3); BYTES; DECIMAL(3, 1); NUMERIC(3); DEC;
        TINYINT; SMALLINT; INT; INTEGER; BIGINT; FLOAT; DOUBLE; DATE; TIME(0); TIMESTAMP(3); TIMESTAMP_LTZ(3);
        TIMESTAMP(3) WITH LOCAL TIME ZONE; VARIANT; BLOB
    """
    known = [each.strip() for each in atoms.split(";")]
    for kind in (*known, *(f"{each} NOT NULL" for each in known)):
        assert not [each for each in refusals(schema(x=kind)) if "does not know" in each.reason], kind
