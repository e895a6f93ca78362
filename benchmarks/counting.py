"""The cost of deletions from a table of a million data files and a thousand branches (P10).

`python -m benchmarks.counting [--files N] [--branches N] [--milliseconds T]`. For each action: seconds to
plan and to apply, requests, and the most memory its process held.

Synthetic: this program writes the metadata (snapshots, tags, branches, lists, manifests with entries as long
as real ones), and no data files, because counting never reads them. The store is the local disk behind the
code for object stores, with a delay for each request. Real: everything from the action down to that code.

Measured with the defaults (1,056,985 data files, 1,000 branches, 20 ms), at low priority on two busy cores,
so that an idle machine takes fewer seconds (before: deletions listed all branches one after the other before
every 32 files, and did not end within hours; delete-tag, which frees 2 files, took 370 s):

                    plan s   all s   cpu s  requests     MB
    delete-savepoint  19.3    68.8    24.5    59,442     65  10,003 files freed
    delete-tag        27.1    72.3    23.4    49,908     62  2 files freed
    delete-branch     37.2   143.4    28.0    83,787     77  30,009 files freed
    expire-snapshots  26.5    77.6    21.2    47,318     65  18 files freed
    create-savepoint   3.8    10.3     0.6     3,055     37
    create-branch     91.3    93.0    12.4       169     70
    verify           223.1             59.0    27,221    371  1,065,949 files looked for
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from benchmarks.measuring.words import parser_of
from paimark.core.actions.context import Context, open_context
from paimark.core.actions.registry import action
from paimark.core.space.space import space
from paimark.core.storage.remote import RemoteFiles
from paimark.core.table.layout import Root, TablePath
from paimark.core.verify import verify
from tests.table.avro_files import MANIFEST, avro, manifest_record, record

TABLE = TablePath("shop", "t")
PER_MANIFEST = 40_000
COMMITS, PER_COMMIT = 100, 20
# Data files that only one savepoint holds, and that only one branch holds.
HELD_ALONE = 10_000
ACTIONS: dict[str, dict[str, object]] = {
    "delete-savepoint": {"id": 1},
    "delete-tag": {"name": "kept-60"},
    "delete-branch": {"name": "big"},
    "expire-snapshots": {"retain_last": 1},
    "create-savepoint": {},
    "create-branch": {"name": "new", "tag": "kept-60"},
    "verify": {},
    "space": {},
}

_SCHEMA = {
    "version": 3,
    "id": 0,
    "fields": [{"id": 0, "name": "k", "type": "BIGINT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
    "highestFieldId": 1,
    "partitionKeys": [],
    "primaryKeys": ["k"],
    "options": {"bucket": "100"},
}
_SAVEPOINT = {
    "version": 1,
    "id": 1,
    "savedSnapshotId": 40,
    "schemaId": 0,
    "fullManifestList": "manifest-list-full",
    "recordCount": 1,
    "saveTime": 1,
    "snapshotTime": 1,
    "verifiedAt": 1,
    "branch": "main",
    "createdBy": "manual",
}
_STATS = record(
    "stats",
    _MIN_VALUES="bytes",
    _MAX_VALUES="bytes",
    _NULL_COUNTS=["null", {"type": "array", "items": ["null", "long"]}],
)
_FILE = record(
    "file",
    _FILE_NAME="string",
    _FILE_SIZE="long",
    _ROW_COUNT="long",
    _MIN_KEY="bytes",
    _MAX_KEY="bytes",
    _KEY_STATS=_STATS,
    _VALUE_STATS="stats",
    _MIN_SEQUENCE_NUMBER="long",
    _MAX_SEQUENCE_NUMBER="long",
    _SCHEMA_ID="long",
    _LEVEL="int",
    _EXTRA_FILES={"type": "array", "items": "string"},
    _EXTERNAL_PATH=["null", "string"],
)
_ENTRY = record(
    "entry", _VERSION="int", _KIND="int", _PARTITION="bytes", _BUCKET="int", _TOTAL_BUCKETS="int", _FILE=_FILE
)

Meta = dict[str, Any]


@dataclass
class Maker:
    """Writes the table. `made` counts its lists and manifests, `files` its data files."""

    warehouse: Path
    random: random.Random = field(default_factory=lambda: random.Random(7))
    made: int = 0
    files: int = 0

    def write(self, path: str, data: bytes) -> None:
        target = self.warehouse / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def names(self, count: int) -> list[str]:
        self.files += count
        return [f"data-{self.random.getrandbits(128):032x}-{number}.parquet" for number in range(count)]

    def manifest(self, added: list[str], deleted: list[str]) -> Meta:
        self.made += 1
        name = f"manifest-{self.made:08d}-5ec5d4cd-5a37-4a4b-9f5c-0b3c8f5bb8a1-0"
        stats = {"_MIN_VALUES": bytes(20), "_MAX_VALUES": bytes(20), "_NULL_COUNTS": [0]}

        def records() -> Iterator[dict[str, Any]]:
            for kind, names in ((0, added), (1, deleted)):
                for each in names:
                    yield {
                        "_VERSION": 2,
                        "_KIND": kind,
                        "_PARTITION": bytes(12),
                        "_BUCKET": hash(each) % 100,
                        "_TOTAL_BUCKETS": 100,
                        "_FILE": {
                            "_FILE_NAME": each,
                            "_FILE_SIZE": 1_000_000,
                            "_ROW_COUNT": 10_000,
                            "_MIN_KEY": bytes(20),
                            "_MAX_KEY": bytes(20),
                            "_KEY_STATS": stats,
                            "_VALUE_STATS": stats,
                            "_MIN_SEQUENCE_NUMBER": 1,
                            "_MAX_SEQUENCE_NUMBER": 10_000,
                            "_SCHEMA_ID": 0,
                            "_LEVEL": 5,
                            "_EXTRA_FILES": [],
                            "_EXTERNAL_PATH": None,
                        },
                    }

        size = self._avro(name, _ENTRY, records())
        return manifest_record(name, size, len(added), len(deleted))

    def snapshot(self, root: Root, number: int, base: list[Meta], delta: list[Meta]) -> bytes:
        """Write a commit as a snapshot of the root, and return its bytes."""
        lists = []
        for metas in (base, delta):
            self.made += 1
            lists.append(f"manifest-list-{self.made:08d}-5ec5d4cd-5a37-4a4b-9f5c-0b3c8f5bb8a1-0")
            self._avro(lists[-1], MANIFEST, iter(metas))
        fields = {
            "version": 3,
            "id": number,
            "schemaId": 0,
            "baseManifestList": lists[0],
            "deltaManifestList": lists[1],
            "commitUser": "u",
            "commitIdentifier": number,
            "commitKind": "APPEND",
            "timeMillis": 1_700_000_000_000 + number * 1000,
            "totalRecordCount": 1,
        }
        data = json.dumps(fields).encode()
        self.write(root.snapshot(number), data)
        return data

    def _avro(self, name: str, schema: dict[str, Any], records: Iterator[dict[str, Any]]) -> int:
        data = avro(schema, records, codec="zstandard")
        self.write(TABLE.manifest(name), data)
        return len(data)


def make(warehouse: Path, files: int, branches: int) -> None:
    """Main with 100 commits, each tenth tagged, the first 90 expired; branches from tags at 10, 30, ..."""
    maker, main = Maker(warehouse), TABLE.root()
    maker.write(main.schema(0), json.dumps(_SCHEMA).encode())
    base: list[Meta] = []
    old: list[str] = []
    for start in range(0, files, PER_MANIFEST):
        names = maker.names(min(PER_MANIFEST, files - start))
        old += names[:2000]
        base.append(maker.manifest(names, []))
    alone: list[str] = []
    states: dict[int, list[Meta]] = {}
    for number in range(1, COMMITS + 1):
        added, deleted = maker.names(PER_COMMIT), [old.pop() for _ in range(PER_COMMIT)]
        if number == 40:
            alone = maker.names(HELD_ALONE)
            added += alone
        if number == 41:
            deleted += alone
        delta = [maker.manifest(added, deleted)]
        data = maker.snapshot(main, number, base, delta)
        base = states[number] = [*base, *delta]
        if number % 10 == 0:
            name = "savepoint.1" if number == 40 else f"kept-{number}"
            maker.write(main.tag(name), data)
        if number == 40:
            maker.write(TABLE.savepoint(1), json.dumps(_SAVEPOINT).encode())
            maker.write(TABLE.savepoint_file("manifest-list-full"), avro(MANIFEST, base))
        if number <= 90:
            (warehouse / main.snapshot(number)).unlink()
    maker.write(main.latest_hint, str(COMMITS).encode())
    for number in range(branches):
        name = f"branch{number}" if number else "big"
        _fork(
            maker, TABLE.root(name), (10, 30, 50, 70, 90)[number % 5], states, HELD_ALONE if not number else 5
        )
    print(f"{maker.files:,} data files, {branches:,} branches, {maker.made:,} lists and manifests")


def _fork(maker: Maker, root: Root, tag: int, states: dict[int, list[Meta]], own: int) -> None:
    main = TABLE.root()
    data = (maker.warehouse / main.tag(f"kept-{tag}")).read_bytes()
    maker.write(root.schema(0), json.dumps(_SCHEMA).encode())
    maker.write(root.tag(f"kept-{tag}"), data)
    maker.write(root.snapshot(tag), data)
    base, before = states[tag], list[str]()
    for number in range(tag + 1, tag + 4):
        added = maker.names(own)
        delta = [maker.manifest(added, before)]
        maker.snapshot(root, number, base, delta)
        base, before = [*base, *delta], added[: own // 2]


class SlowFilesystem(LocalFileSystem):  # type: ignore[misc]
    """The local disk as if far away: it delays and counts each request."""

    cachable = False
    requests = 0
    seconds = 0.0
    _lock = threading.Lock()

    def _travel(self) -> None:
        with SlowFilesystem._lock:
            SlowFilesystem.requests += 1
        time.sleep(SlowFilesystem.seconds)

    def ls(self, path: str, detail: bool = True, **named: Any) -> Any:
        self._travel()
        kinds = {True: "directory", False: "file"}
        with os.scandir(path) as found:
            return [
                {"name": each.path, "type": kinds[each.is_dir()], "size": each.stat().st_size}
                for each in found
            ]

    def info(self, path: str, **named: Any) -> Any:
        self._travel()
        return super().info(path, **named)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **named: Any) -> bytes:
        self._travel()
        with open(path, "rb") as file:
            return file.read()

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **named: Any) -> None:
        self._travel()
        if mode == "create" and os.path.exists(path):
            raise FileExistsError(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{threading.get_ident()}"
        with open(temporary, "wb") as file:
            file.write(value)
        os.replace(temporary, path)

    def rm_file(self, path: str) -> None:
        self._travel()
        os.unlink(path)


def slow_context(warehouse: Path) -> Context:
    files = RemoteFiles(SlowFilesystem(), str(warehouse), str(warehouse), can_create=True)
    context = open_context(str(warehouse), {}, read_only=False)
    return replace(context, files=files, audit_path=warehouse / "audit.jsonl")


def run(name: str, warehouse: Path, milliseconds: float) -> None:
    """Run one action in this process, and print its figures as JSON."""
    SlowFilesystem.seconds = milliseconds / 1000
    context, told = slow_context(warehouse), list[str]()
    started, cpu = time.perf_counter(), time.process_time()
    if name == "verify":
        report = verify(context, TABLE, progress=told.append)
        plan_seconds, said = time.perf_counter() - started, f"{report.files:,} files needed"
    elif name == "space":
        told_space = space(context, TABLE, progress=told.append)
        plan_seconds, said = time.perf_counter() - started, f"{len(told_space.rows):,} rows"
    else:
        chosen = action(name)
        plan = chosen.plan(context, TABLE, ACTIONS[name])
        plan_seconds, said = time.perf_counter() - started, f"{plan.freed_files:,} files freed"
        assert not plan.refusals, plan.refusals
        chosen.apply(context, plan, told.append)
    figures = {
        "plan": plan_seconds,
        "all": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "requests": SlowFilesystem.requests,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "said": said,
    }
    print(json.dumps(figures))


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__)
    words.add_argument("--files", type=int, default=1_000_000)
    words.add_argument("--branches", type=int, default=1_000)
    words.add_argument("--milliseconds", type=float, default=20.0)
    words.add_argument("--only", choices=[*ACTIONS])
    words.add_argument("--at", type=Path, help="Where the table is, or is made and left.")
    words.add_argument("--run", choices=[*ACTIONS], help=argparse.SUPPRESS)
    return words


def main() -> None:
    chosen = parser().parse_args()
    if chosen.run:
        run(chosen.run, chosen.at, chosen.milliseconds)
        return
    with tempfile.TemporaryDirectory() as directory:
        warehouse = chosen.at or Path(directory) / "warehouse"
        if not warehouse.exists():
            make(warehouse, chosen.files, chosen.branches)
        print(f"{'':18}{'plan s':>8}{'all s':>8}{'cpu s':>8}{'requests':>10}{'MB':>7}")
        for name in [chosen.only] if chosen.only else ACTIONS:
            place = warehouse.with_name(f"{warehouse.name}-copy")
            # Files are replaced and removed, never changed, so hard links are enough for a copy.
            shutil.copytree(warehouse, place, copy_function=os.link)
            words = ["--run", name, "--at", str(place), "--milliseconds", str(chosen.milliseconds)]
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.counting", *words], stdout=subprocess.PIPE, check=False
            )
            shutil.rmtree(place)
            if done.returncode:
                print(f"{name:18}failed")
                continue
            found = json.loads(done.stdout)
            seconds = "".join(f"{found[each]:8.1f}" for each in ("plan", "all", "cpu"))
            print(f"{name:18}{seconds}{found['requests']:10,}{found['megabytes']:7.0f}  {found['said']}")


if __name__ == "__main__":
    main()
