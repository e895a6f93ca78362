"""A manifest takes no more memory than its bytes can honestly be worth."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import fastavro
import pytest
from backports import zstd

from paimark.core.errors import Corrupt
from paimark.core.storage.local import LocalFiles
from paimark.core.table.manifests.manifests import read_manifest_list, read_manifests, write_manifest_list
from tests.wording import about

NAME = "shop.db/t/manifest/manifest-list-1"
_SYNC = bytes(range(16))
# A real schema's most necessary fields.
NEEDED = [
    {"name": "_VERSION", "type": "int"},
    {"name": "_FILE_NAME", "type": "string"},
    {"name": "_FILE_SIZE", "type": "long"},
    {"name": "_SCHEMA_ID", "type": "long"},
]
VERSION = {"type": "record", "name": "r", "fields": NEEDED}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda data: zlib.compress(data, 9, -15),
    "zstandard": lambda data: zstd.compress(data),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(4, "big"),
}


def number(value: int) -> bytes:
    value, encoded = (value << 1) ^ (value >> 63), b""
    while value > 0x7F:
        encoded, value = encoded + bytes([value & 0x7F | 0x80]), value >> 7
    return encoded + bytes([value])


def text(data: bytes) -> bytes:
    return number(len(data)) + data


def container(schema: object, codec: str, count: int, plain: bytes) -> bytes:
    """An Avro file of one block that says it holds `count` records."""
    header = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec.encode()}
    pairs = b"".join(text(key) + text(value) for key, value in header.items())
    head = b"Obj\x01" + number(len(header)) + pairs + number(0) + _SYNC
    return head + number(count) + text(COMPRESS[codec](plain)) + _SYNC


def put(directory: Path, data: bytes) -> LocalFiles:
    files = LocalFiles(str(directory))
    files.replace(NAME, data)
    return files


READ = """
import resource, sys
from paimark.core.errors import Corrupt
from paimark.core.storage.local import LocalFiles
from paimark.core.table.manifests.manifests import read_manifest_list
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
try: print(len(read_manifest_list(LocalFiles(sys.argv[1]), sys.argv[2])))
except Corrupt as error: print(error.message)
"""


def read_in_little_memory(directory: Path) -> str:
    """How many records there are, or what is said, by a process that may have 1.5 GB of addresses."""
    command = [sys.executable, "-c", READ, str(directory), NAME]
    return subprocess.run(command, capture_output=True, text=True, timeout=240).stdout.strip()


EMPTY = {"type": "record", "name": "r", "fields": []}
NOTHING = {"type": "record", "name": "r", "fields": [{"name": "_VERSION", "type": "null"}]}
FIXED = {"type": "fixed", "name": "f", "size": 0}
LISTED = {"type": "array", "items": "null"}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(EMPTY, id="a record without fields"),
        pytest.param(NOTHING, id="a field without values"),
        pytest.param({**NOTHING, "fields": [{"name": "a", "type": FIXED}]}, id="a field without bytes"),
        pytest.param({**NOTHING, "fields": [{"name": "a", "type": EMPTY}]}, id="a record in a record"),
    ],
)
def test_records_that_take_no_bytes_are_refused(tmp_path: Path, schema: object) -> None:
    put(tmp_path, container(schema, "null", 20_000_000, b""))
    assert "take no bytes" in read_in_little_memory(tmp_path)


def test_a_list_of_values_that_take_no_bytes_is_refused(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", LISTED]}]}
    put(tmp_path, container(schema, "null", 1, number(1) + number(2_000_000_000) + number(0)))
    assert "take no bytes" in read_in_little_memory(tmp_path)


@pytest.mark.parametrize("codec", ["deflate", "zstandard", "bzip2", "xz"])
def test_a_block_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path, codec: str) -> None:
    put(tmp_path, container(VERSION, codec, 1, bytes(30_000_000)))
    assert about("unpacks", "size").search(read_in_little_memory(tmp_path))


def test_a_block_that_says_it_is_larger_than_it_is_is_refused(tmp_path: Path) -> None:
    data = container(VERSION, "snappy", 1, bytes(100)).replace(number(100), number(2_000_000_000))
    put(tmp_path, data)
    assert "can't be read" in read_in_little_memory(tmp_path)


@pytest.mark.parametrize("count", [3, 20_000_000, -20_000_000, 1 << 62])
def test_a_block_that_counts_more_records_than_bytes_is_refused(tmp_path: Path, count: int) -> None:
    put(tmp_path, container(VERSION, "null", count, number(2) * 2))
    assert "can't be read" in read_in_little_memory(tmp_path)


def test_many_blocks_together_are_bounded_as_one(tmp_path: Path) -> None:
    one = container(VERSION, "zstandard", 1, number(2) + bytes(3_000_000))
    block = one[one.index(_SYNC) + 16 :]
    put(tmp_path, one + block * 500)
    assert about("unpacks", "size").search(read_in_little_memory(tmp_path))


@pytest.mark.parametrize("cut", [5, 60, 150, -20, -5])
def test_a_file_that_was_cut_is_damaged(tmp_path: Path, cut: int) -> None:
    data = container(VERSION, "deflate", 2, number(2) * 2)
    with pytest.raises(Corrupt, match="can't be read"):
        read_manifest_list(put(tmp_path, data[:cut]), NAME)


@pytest.mark.parametrize("codec", COMPRESS)
def test_honest_files_are_read_whatever_packs_them(tmp_path: Path, codec: str) -> None:
    files = put(tmp_path, container(VERSION, codec, 3, (number(2) + text(b"m") + number(7) + number(0)) * 3))
    names = [(meta.file_name, meta.file_size) for meta in read_manifest_list(files, NAME)]
    assert names == [("m", 7)] * 3


@pytest.mark.long
def test_entries_that_are_all_alike_are_honest(tmp_path: Path) -> None:
    """The most that packing makes of real entries: those of one wide table, written at once."""
    statistics = {"type": "record", "name": "s", "fields": [{"name": "_NULL_COUNTS", "type": LONGS}]}
    numbers = ["_FILE_SIZE", "_ROW_COUNT", "_LEVEL", "_SCHEMA_ID"]
    numbers += ["_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER"]
    keys = ("_MIN_KEY", "_MAX_KEY")
    file: list[dict[str, object]] = [{"name": name, "type": "long"} for name in numbers]
    file += [{"name": name, "type": "bytes"} for name in keys]
    file += [{"name": "_FILE_NAME", "type": "string"}, {"name": "_STATS", "type": statistics}]
    fields = [
        *NEEDED,
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {"name": "_BUCKET", "type": "int"},
        {"name": "_FILE", "type": {"type": "record", "name": "f", "fields": file}},
    ]
    schema = {"type": "record", "name": "r", "fields": fields}
    counts = {"_NULL_COUNTS": [0] * 1000}
    alike = {"_VERSION": 2, "_KIND": 0, "_FILE_NAME": "", "_PARTITION": b"", "_BUCKET": 0}
    records = [
        {
            **{**dict.fromkeys(numbers, 0), **alike},
            "_FILE": {
                **{**dict.fromkeys(numbers, 0), **dict.fromkeys(keys, b"")},
                "_FILE_NAME": f"data-{os.urandom(8).hex()}-0.parquet",
                "_STATS": counts,
            },
        }
        for _ in range(5_000)
    ]
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, records, codec="zstandard")
    files = put(tmp_path, buffer.getvalue())
    assert len(list(read_manifests(files, [NAME]))) == 5_000
    assert len(write_manifest_list(files, [NAME, NAME])) > len(buffer.getvalue())


LONGS = {"type": "array", "items": "long"}
