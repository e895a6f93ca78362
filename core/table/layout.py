"""All paths below a table. No other module builds a path.

A *branch root* is a directory with `snapshot/ schema/ tag/ changelog/ consumer/`. All roots of a table share
its manifests and data files; savepoints belong to the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from paimark.core.quoting import quoted

DATABASE_SUFFIX = ".db"
SNAPSHOT_PREFIX = "snapshot-"
SCHEMA_PREFIX = "schema-"
TAG_PREFIX = "tag-"
BRANCH_PREFIX = "branch-"
CHANGELOG_PREFIX = "changelog-"
SAVEPOINT_PREFIX = "savepoint-"
CLAIM_PREFIX = "CLAIM-"
STEP_PREFIX = "STEP-"
HEARTBEAT_PREFIX = "ALIVE-"
OPERATION_PREFIX, WRITE_PREFIX, BEGUN_PREFIX = "operation-", "write-", "begun-"
CONSUMER_PREFIX = "consumer-"
STREAM_PREFIX = "STREAM-"
SAVEPOINT_TAG_PREFIX = "savepoint."
MERGE_TAG_PREFIX, TRUNCATION_TAG_PREFIX = "paimark.merge.", "paimark.truncate."
# Of tags that Paimark makes for itself.
PIN_PREFIXES = (MERGE_TAG_PREFIX, TRUNCATION_TAG_PREFIX)
MAIN = "main"
# The parts of a branch root, in the order to write them. The files in each are called `<part>-...`, but for
# hints beside snapshots and changelogs.
PARTS = ("schema", "tag", "changelog", "consumer", "snapshot")
HINTS = ("EARLIEST", "LATEST")

# The barrier: while a branch is main, it replaces the table directory's snapshots, and LATEST names it. It is
# no snapshot: an engine that has the table open fails on it, instead of finding no snapshot and no rows.
BARRIER_ID = 9_000_000_000
BARRIER = f"{SNAPSHOT_PREFIX}{BARRIER_ID}"
# A number with so many digits always fits into the 64 bits of an id.
MAX_DIGITS = 18


class TablePath(msgspec.Struct, frozen=True):
    """A table of the warehouse: its names and its directory, relative to the warehouse."""

    database: str
    name: str

    @property
    def directory(self) -> str:
        return f"{self.database}{DATABASE_SUFFIX}/{self.name}"

    @property
    def full_name(self) -> str:
        """`shop.orders`; a part that would be misread is in backticks, so that the name can be parsed."""
        return ".".join(_readable(part) for part in (self.database, self.name))

    @property
    def word(self) -> str:
        """The full name as a word of a shell's command line."""
        import shlex

        return shlex.quote(self.full_name)

    @property
    def undo(self) -> str:
        """The command that takes back its last change."""
        return f"paimark undo {self.word}"

    @property
    def redo(self) -> str:
        """The command that does again what was undone last."""
        return f"paimark redo {self.word}"

    @property
    def branches(self) -> str:
        return f"{self.directory}/branch"

    @property
    def main_branch_file(self) -> str:
        return f"{self.branches}/MAIN-BRANCH"

    @property
    def journal(self) -> str:
        return f"{self.branches}/ACTION"

    @property
    def merges(self) -> str:
        """The merge record: how much of each branch main already has."""
        return f"{self.branches}/merges"

    @property
    def protected(self) -> str:
        """What no action lets go, with the reasons."""
        return f"{self.branches}/protected"

    def stream_attempt(self, query: str, batch: int, uuid: str) -> str:
        """The record of a streaming query's attempt to commit a batch as the snapshot with this uuid."""
        return f"{self.branches}/{STREAM_PREFIX}{query}.{batch}.{uuid}"

    @property
    def manifests(self) -> str:
        return f"{self.directory}/manifest"

    @property
    def savepoints(self) -> str:
        return f"{self.directory}/savepoint"

    @property
    def latest_savepoint_hint(self) -> str:
        return f"{self.savepoints}/LATEST"

    def manifest(self, file_name: str) -> str:
        return f"{self.manifests}/{file_name}"

    def savepoint(self, savepoint_id: int) -> str:
        return f"{self.savepoints}/{SAVEPOINT_PREFIX}{savepoint_id}"

    def savepoint_claim(self, savepoint_id: int) -> str:
        return f"{self.savepoints}/{CLAIM_PREFIX}{savepoint_id}"

    def savepoint_file(self, file_name: str) -> str:
        return f"{self.savepoints}/{file_name}"

    def statistics_file(self, file_name: str) -> str:
        return f"{self.directory}/statistics/{file_name}"

    def index_file(self, file_name: str) -> str:
        return f"{self.directory}/index/{file_name}"

    @property
    def iceberg_metadata(self) -> tuple[str, str]:
        """Where stock commits keep Iceberg metadata: beside the data, or where an Iceberg catalog looks."""
        return f"{self.directory}/metadata", f"iceberg/{self.database}/{self.name}/metadata"

    def success_file(self, tag: str) -> str:
        """The file that says that a tag is complete. It lies here for a tag of a branch, too."""
        return f"{self.directory}/tag/tag-success-file/{tag}_SUCCESS"

    def journal_step(self, token: str, number: int) -> str:
        """The path of one entry of the journal with this token, counted from 1."""
        return f"{self.branches}/{STEP_PREFIX}{token}-{number}"

    def heartbeat(self, token: str) -> str:
        """The heartbeat file of the process that holds this token."""
        return f"{self.branches}/{HEARTBEAT_PREFIX}{token}"

    @property
    def operations(self) -> str:
        """The directory of the operation log, one file for each operation."""
        return f"{self.branches}/operations"

    def operation(self, number: int, token: str) -> str:
        """The entry of a change in the operation log."""
        return f"{self.operations}/{OPERATION_PREFIX}{number}-{token}"

    def write_operation(self, number: int, token: str) -> str:
        """The entry of a writer's commit in the operation log."""
        return f"{self.operations}/{WRITE_PREFIX}{number}-{token}"

    def begun_write(self, number: int, token: str) -> str:
        """The entry of a writer's commit while it is not known that it landed."""
        return f"{self.operations}/{BEGUN_PREFIX}{number}-{token}"

    def data_file(self, partition: str, bucket: int, file_name: str) -> str:
        """`partition` is `day=2026-05-01` or empty; `bucket` is -2 for postponed buckets."""
        bucket_name = "bucket-postpone" if bucket == -2 else f"bucket-{bucket}"
        parts = [self.directory, partition, bucket_name, file_name]
        return "/".join(part for part in parts if part)

    def root(self, branch: str | None = None) -> Root:
        """The root of a named branch, or the table directory itself."""
        return Root(self, branch)

    def called(self, label: str) -> Root:
        """The root with this label."""
        return self.root(None if label == MAIN else label)


class Root(msgspec.Struct, frozen=True):
    """A branch root. `branch` is None for the table directory, else the branch's name."""

    table: TablePath
    branch: str | None

    @property
    def directory(self) -> str:
        if self.branch is None:
            return self.table.directory
        return f"{self.table.branches}/{BRANCH_PREFIX}{self.branch}"

    @property
    def label(self) -> str:
        """Its name for people: the branch's name, or `main` for the table directory."""
        return self.branch or MAIN

    @property
    def snapshots(self) -> str:
        return f"{self.directory}/snapshot"

    @property
    def latest_hint(self) -> str:
        return f"{self.snapshots}/LATEST"

    @property
    def earliest_hint(self) -> str:
        return f"{self.snapshots}/EARLIEST"

    @property
    def schemas(self) -> str:
        return f"{self.directory}/schema"

    @property
    def tags(self) -> str:
        return f"{self.directory}/tag"

    @property
    def changelogs(self) -> str:
        return f"{self.directory}/changelog"

    @property
    def consumers(self) -> str:
        return f"{self.directory}/consumer"

    def snapshot(self, snapshot_id: int) -> str:
        return f"{self.snapshots}/{SNAPSHOT_PREFIX}{snapshot_id}"

    def schema(self, schema_id: int) -> str:
        return f"{self.schemas}/{SCHEMA_PREFIX}{schema_id}"

    def tag(self, name: str) -> str:
        return f"{self.tags}/{TAG_PREFIX}{name}"

    def consumer(self, name: str) -> str:
        """A reader's consumer file. It names the next snapshot to read; expiry keeps it and later ones."""
        return f"{self.consumers}/{CONSUMER_PREFIX}{name}"

    def changelog(self, snapshot_id: int) -> str:
        """The long-lived changelog of an expired snapshot, for readers of its changes."""
        return f"{self.changelogs}/{CHANGELOG_PREFIX}{snapshot_id}"


def _readable(part: str) -> str:
    is_plain = part == part.strip() and not set(".`") & set(part)
    return part if is_plain else quoted(part)


def number_in(name: str, prefix: str) -> int | None:
    """The number in a file name `<prefix><number>`; None for any other name, and for the barrier's."""
    if name == BARRIER:
        return None
    digits = name[len(prefix) :]
    is_number = (
        name.startswith(prefix)
        and digits.isdecimal()
        and digits.isascii()
        and len(digits) <= MAX_DIGITS
        and (digits[0] != "0" or digits == "0")
    )
    return int(digits) if is_number else None


def numbered(names: Iterable[str], prefix: str) -> list[int]:
    """The numbers in the file names `<prefix><number>`, ascending."""
    return sorted(number for name in names if (number := number_in(name, prefix)) is not None)


def savepoint_tag(savepoint_id: int) -> str:
    """The name of the stock tag that protects a savepoint's files."""
    return f"{SAVEPOINT_TAG_PREFIX}{savepoint_id}"


def in_order_of_makers(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of one snapshot: those of savepoints, those that people made, and the pins of our own."""

    def place(tag: str) -> tuple[bool, bool, str]:
        return tag.startswith(PIN_PREFIXES), not tag.startswith(SAVEPOINT_TAG_PREFIX), tag

    return tuple(sorted(tags, key=place))


def pins_of(branch: str) -> re.Pattern[str]:
    """The names of main's pins for a branch: what is before the branch's name, and what is behind it."""
    return re.compile(rf"({'|'.join(map(re.escape, PIN_PREFIXES))}){re.escape(branch)}(\.\d+)")


def merge_tag(branch: str, snapshot_id: int) -> str:
    """The name of main's tag that pins a snapshot which the branch shares, or which the next merge needs."""
    return f"{MERGE_TAG_PREFIX}{branch}.{snapshot_id}"


def truncation_tag(branch: str, snapshot_id: int) -> str:
    """The name of main's tag on the newest snapshot that it shares with the branch of the cut-off commits."""
    return f"{TRUNCATION_TAG_PREFIX}{branch}.{snapshot_id}"
