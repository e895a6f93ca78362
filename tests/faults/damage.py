"""The kinds of damage of a metadata file, deterministic and each once."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import fastavro

# JSON as text, because some of these can't be made from Python values.
DEEP = "[" * 5000 + "]" * 5000
DIGITS = "9" * 5000
HALF = '"\\ud800"'
VALUES = [
    "null",
    "[]",
    "{}",
    '"x"',
    "-1",
    "1.5",
    "true",
    DIGITS,
    HALF,
    DEEP,
    '"../../x"',
    "9223372036854775807",
]
# In the place of a number: what JSON can hold, and 64 bits, a moment or a count can't.
NUMBERS = ["1" + "0" * 400, "-1" + "0" * 400, "9223372036854775808", "-9223372036854775808", "1e300", "2.0"]


class Damage(NamedTuple):
    """`data` makes the damaged content, as most are not chosen; `name` describes it in failures."""

    name: str
    data: Callable[[], bytes]


def of_any_file(data: bytes) -> Iterator[Damage]:
    """Damage of the bytes, for any format."""
    yield Damage("empty", lambda: b"")
    yield Damage("half", lambda: data[: len(data) // 2])
    yield Damage("zeros", lambda: bytes(len(data)))
    yield Damage("not UTF-8", lambda: b"\xff\xfe\x00" + data[:20])
    yield Damage("digits", DIGITS.encode)
    yield Damage("deep", DEEP.encode)
    for position in range(len(data) // 7, len(data), max(1, len(data) // 5)):
        yield Damage(f"bit flipped at {position}", partial(_flipped, data, position))


def of_json(data: bytes) -> Iterator[Damage]:
    """Each field removed, and with each wrong value; the same one level down."""
    document = json.loads(data)
    yield Damage("a list", lambda: b"[]")
    yield Damage("a null", lambda: b"null")
    if isinstance(document, dict):
        for path in _paths(document):
            yield Damage(f"without {path}", partial(_without, document, path))
            of_numbers = NUMBERS if isinstance(_holder(document, path)[path[-1]], int | float) else []
            for value in (*VALUES, *of_numbers):
                yield Damage(f"{path} = {value[:20]}", partial(_with, document, path, value))


def of_avro(data: bytes) -> Iterator[Damage]:
    """Each field of the writer's schema removed, null, and of another type."""
    reader = fastavro.reader(io.BytesIO(data))
    records, schema = [dict(record) for record in reader], reader.writer_schema
    yield Damage("no records", partial(_avro, schema, []))
    none: dict[str, Any] = {"type": "record", "name": "r", "fields": []}
    yield Damage("another schema", partial(_avro, none, [{}] * len(records)))
    for path in _fields(schema):
        yield Damage(f"without {path}", partial(_changed_avro, schema, records, path, None))
        for kind, value in (
            ("null", None),
            ("string", "x"),
            ("long", -7),
            ("double", 1.5),
            ("double", float("inf")),
            ("long", -(2**63)),
            ("bytes", b"\xff"),
        ):
            yield Damage(f"{path} a {kind}", partial(_changed_avro, schema, records, path, kind, value))


Path = tuple[str, ...]


def _flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0x15]) + data[position + 1 :]


def _paths(document: dict[str, Any]) -> Iterator[Path]:
    for name, value in document.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, below) for below in value)


def _without(document: dict[str, Any], path: Path) -> bytes:
    result = copy.deepcopy(document)
    _holder(result, path).pop(path[-1])
    return json.dumps(result).encode()


def _with(document: dict[str, Any], path: Path, value: str) -> bytes:
    """`value` is JSON."""
    result = _put(copy.deepcopy(document), path, "\0here")
    return json.dumps(result).replace('"\\u0000here"', value).encode()


def _holder(document: dict[str, Any], path: Path) -> dict[str, Any]:
    for name in path[:-1]:
        document = document[name]
    return document


def _put(record: dict[str, Any], path: Path, value: object) -> dict[str, Any]:
    _holder(record, path)[path[-1]] = value
    return record


def _fields(schema: Any) -> Iterator[Path]:
    for field in _record(schema)["fields"]:
        yield (field["name"],)
        below = _record(field["type"])
        if below:
            yield from ((field["name"], each["name"]) for each in below["fields"])


def _record(schema: Any) -> dict[str, Any]:
    """The record type within a type; empty if there is none."""
    choices = schema if isinstance(schema, list) else [schema]
    return next((each for each in choices if isinstance(each, dict) and each.get("type") == "record"), {})


def _changed(schema: Any, path: Path, kind: str | None) -> Any:
    """The schema with another type for the field; without the field if `kind` is None."""
    result = copy.deepcopy(schema)
    record = _record(result)
    for name in path[:-1]:
        record = _record(next(each["type"] for each in record["fields"] if each["name"] == name))
    at = next(index for index, each in enumerate(record["fields"]) if each["name"] == path[-1])
    if kind is None:
        del record["fields"][at]
    else:
        record["fields"][at] = {"name": path[-1], "type": kind}
    return result


def _changed_avro(
    schema: Any, records: list[dict[str, Any]], path: Path, kind: str | None, value: object = None
) -> bytes:
    """The field as another type with this value; without the field if `kind` is None."""
    changed = records if kind is None else [_put(copy.deepcopy(each), path, value) for each in records]
    return _avro(_changed(schema, path, kind), changed)


def _avro(schema: Any, records: list[dict[str, Any]]) -> bytes:
    plain = copy.deepcopy(schema)
    for each in (plain, *(_record(field["type"]) for field in _record(plain)["fields"])):
        for mark in ("__fastavro_parsed__", "__named_schemas"):
            if isinstance(each, dict):
                each.pop(mark, None)
    buffer = io.BytesIO()
    fastavro.writer(buffer, plain, records)
    return buffer.getvalue()
