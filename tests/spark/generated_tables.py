"""Tables made up from a seed, written by pypaimon and by stock Paimon in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.spark.generated_tables_values import (
    ADDED,
    ATOMIC,
    KEYS,
    PARTITIONS,
    TEXTS,
    WIDER,
    key_values,
    nested,
    nullable,
    plain,
)

DATABASE = "generated"
_FORMATS = ["parquet", "parquet", "parquet", "orc", "avro"]
_MERGES = ["append", "append", "append", *["deduplicate"] * 6]
_MERGES += ["partial-update", "aggregation", "first-row", "deletion-vectors"]
_HOSTILE = ["a/b", "a=b", "%41", "ü ", "..", "__DEFAULT_PARTITION__", "it's", "x"]
_KINDS = ["+I", "+U", "-D", "-U"]
_AGGREGATES = {"max": pa.int32(), "min": pa.date32(), "last_non_null_value": pa.string(), "sum": pa.int64()}


@dataclass(frozen=True)
class Column:
    """`word` is Paimon's own for the type, where Arrow has none: `VARCHAR(50)`. `required`: no nulls."""

    name: str
    type: pa.DataType
    role: str = ""
    word: str = ""
    required: bool = False


@dataclass(frozen=True)
class Target:
    """What is read: `table`, with its branch in its name, at a snapshot (None: the newest)."""

    table: str
    columns: tuple[Column, ...]
    snapshot: int | None = None


@dataclass
class Generated:
    """A table that exists. `story` is how it came to be, a line a step.

    `only` is the one merge engine and format wanted, where not any.
    """

    seed: int
    only: tuple[str, str] | None = None
    merge: str = ""
    format: str = ""
    options: dict[str, str] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{DATABASE}.t{self.seed}"

    @property
    def key(self) -> list[str]:
        """The primary key, its partition columns first."""
        if self.merge == "append":
            return []
        return [each.name for role in ("partition", "key") for each in self.columns if each.role == role]


def generate(table: Generated, warehouse: Path, judge: Judge) -> None:
    """Make the table of this seed."""
    Maker(table, warehouse, judge).make()


class Maker:
    """Writes to `at`, the table or a branch of it as stock Paimon calls it, by the columns of `table`."""

    def __init__(self, table: Generated, warehouse: Path, judge: Judge) -> None:
        self.random = Random(table.seed)
        # Of its own: what else a seed stands for stays the same.
        self.nulls = Random(f"nulls of {table.seed}")
        self.warehouse = warehouse
        self.judge = judge
        self.table = table
        self.at = table.name
        table.merge, table.format = table.only or (self.random.choice(_MERGES), self.random.choice(_FORMATS))
        self.pools: dict[str, list[Any]] = {}
        self.numbered = 0

    def make(self) -> None:
        self.begin()
        name = self.table.name
        past: list[Target] = []
        for step in range(self.random.choice([1, 2, 3, 4, 5])):
            if step and self._chance(0.3):
                self.alter()
            if step and self.nulls.random() < 0.4:
                self.loosen()
            self.commit(name)
            past.append(Target(name, tuple(self.table.columns), self._newest()))
            if self._chance(0.2):
                self.compact(name)
        if self._is_looked_up():
            # Readers leave out what no compaction has looked at yet.
            self.compact(name)
        self.table.targets.append(Target(name, tuple(self.table.columns)))
        if self._chance(0.15):
            self._branch()
        if self._chance(0.2) and not self._is_looked_up():
            self.table.targets.append(self.random.choice(past))

    def begin(self) -> None:
        """Create the table."""
        self._columns()
        self._options()
        self._create()

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _is_looked_up(self) -> bool:
        return self.table.merge in ("first-row", "deletion-vectors")

    def _since(self) -> str:
        # In ORC stock Paimon fails on some times before 1970, and pyarrow's nanoseconds end in 1677.
        return "1970" if self.table.format == "orc" else ""

    def _tell(self, line: str) -> None:
        self.table.story.append(line)

    def _new_name(self) -> str:
        self.numbered += 1
        # Avro has rules for names, and options name columns between dots.
        is_plain = self.table.format == "avro" or self.table.merge == "aggregation"
        names = ["c", "Col", "select"] if is_plain else ["c", "Col", "a b", "x.y", "ü"]
        return self.random.choice(names) + str(self.numbered)

    def _columns(self) -> None:
        random, merge = self.random, self.table.merge
        columns = []
        if merge != "append":
            # Stock Paimon's lookup can't compare bytes.
            kinds = [each for each in KEYS if not (self._is_looked_up() and pa.types.is_binary(each))]
            columns += [
                Column(self._new_name(), each, "key")
                for each in random.sample(kinds, random.choice([1, 1, 2, 3]))
            ]
        if self._chance(0.35):
            columns += [
                Column(self._new_name(), each, "partition")
                for each in random.sample(PARTITIONS, random.choice([1, 1, 2]))
            ]
        if merge == "aggregation":
            columns += [Column(self._new_name(), kind, name) for name, kind in _AGGREGATES.items()]
        else:
            columns += [
                Column(self._new_name(), each) for each in random.sample(ATOMIC, random.choice([1, 2, 4]))
            ]
            columns += [Column(self._new_name(), nested(random)) for _ in range(random.choice([0, 0, 1, 2]))]
            if self._chance(0.3):
                columns.append(Column(self._new_name(), pa.string(), word=random.choice(TEXTS)))
        if merge in ("deduplicate", "deletion-vectors") and self._chance(0.3):
            kinds = [each for each in KEYS if not pa.types.is_boolean(each)] + [pa.float64()]
            columns += [
                Column(self._new_name(), each, "sequence")
                for each in random.sample(kinds, random.choice([1, 1, 2]))
            ]
        if merge == "deduplicate" and self._chance(0.25):
            columns.append(Column("op", pa.string(), "rowkind"))
        random.shuffle(columns)
        columns = [replace(each, required=not each.role and self.nulls.random() < 0.25) for each in columns]
        self.table.columns = columns
        for each in columns:
            if each.role == "key":
                count = random.choice([3, 12, 40])
                self.pools[each.name] = key_values(random, each.type, count, self._since())
            if each.role == "partition":
                # Stock Paimon's lookup makes file names of them as they are.
                hostile = [name for name in _HOSTILE if not (self._is_looked_up() and "/" in name)]
                values = hostile if pa.types.is_string(each.type) else key_values(random, each.type, 4)
                self.pools[each.name] = random.sample(values, min(3, len(values)))
                if merge == "append":
                    self.pools[each.name].append(None)

    def _options(self) -> None:
        random, table = self.random, self.table
        options = table.options
        options["file.format"] = table.format
        by_role = {
            role: [each.name for each in table.columns if each.role == role]
            for role in ("sequence", "rowkind")
        }
        if table.merge == "append":
            options["bucket"] = "-1"
            return
        options["bucket"] = random.choice(["1", "1", "2", "2", "-1", "-2"])
        options["write-only"] = random.choice(["true", "false"])
        if self._is_looked_up() or options["bucket"] not in ("-1", "-2"):
            options["bucket"] = options["bucket"].removeprefix("-")
        else:
            options["dynamic-bucket.target-row-num"] = "5"
        if table.merge == "deduplicate" and not by_role["rowkind"] and self._chance(0.1):
            options["ignore-delete"] = "true"
        if table.merge == "deletion-vectors":
            options["deletion-vectors.enabled"] = "true"
            options["write-only"] = "false"
        elif table.merge != "deduplicate":
            options["merge-engine"] = table.merge
        if table.merge == "first-row":
            options["write-only"] = "false"
        for column in table.columns:
            if column.role in _AGGREGATES:
                options[f"fields.{column.name}.aggregate-function"] = column.role
        if by_role["sequence"]:
            options["sequence.field"] = ",".join(by_role["sequence"])
            if self._chance(0.25):
                options["sequence.field.sort-order"] = "descending"
        if by_role["rowkind"]:
            options["rowkind.field"] = "op"

    def _create(self) -> None:
        table = self.table
        schema = self._schema()
        partitions = [each.name for each in table.columns if each.role == "partition"]
        self._tell(
            f"create {table.merge} {dict(table.options)} key {table.key} partitions {partitions}\n{schema}"
        )
        create_table(
            self.warehouse,
            table.name,
            schema,
            primary_keys=table.key,
            partition_keys=partitions,
            options=table.options,
            words={each.name: each.word for each in table.columns if each.word},
        )

    def _schema(self) -> pa.Schema:
        table = self.table
        return pa.schema(
            pa.field(each.name, each.type, nullable=each.name not in table.key and not each.required)
            for each in table.columns
        )

    def commit(self, name: str) -> None:
        by_stock = self._needs_stock() or self._chance(0.45)
        rows = self._rows(self.random.choice([1, 3, 8, 8, 25, 25, 300]))
        columns = self.table.columns
        if by_stock:
            kinds = [self._kind() for _ in rows]
            plains = [[plain(row[each.name], each.type) for each in columns] for row in rows]
            self.judge.put(self.warehouse, name, list(zip(kinds, plains, strict=True)))
        else:
            commit(self.warehouse, name, pa.Table.from_pylist(rows, schema=self._schema()))
        self._tell(f"{'stock' if by_stock else 'pypaimon'} commits {len(rows)} rows to {name}")

    def _needs_stock(self) -> bool:
        # pypaimon does not write these, or not where stock Paimon looks for them.
        is_nested = any(pa.types.is_nested(each.type) for each in self.table.columns)
        is_fixed = not self.table.key or not self.table.options["bucket"].startswith("-")
        return self._is_looked_up() or (self.table.format == "avro" and is_nested) or not is_fixed

    def _rows(self, count: int) -> list[dict[str, Any]]:
        rows = [{each.name: self._value(each) for each in self.table.columns} for _ in range(count)]
        if not self.table.key:
            return rows
        return list({tuple(repr(row[name]) for name in self.table.key): row for row in rows}.values())

    def _value(self, column: Column) -> Any:
        if column.name in self.pools:
            return self.random.choice(self.pools[column.name])
        if column.role == "rowkind":
            return self.random.choice(["+I", "+I", "+I", "+U", "-D", "-U"])
        if column.role == "sum":
            return self.random.choice([None, -3, 0, 5, 2**40])
        if column.role == "sequence" and pa.types.is_floating(column.type):
            # Paimon's versions disagree where NaN and -0 come.
            return self.random.choice([None, 0.0, -1.5, 2.25, 1e300])
        value = nullable(self.random, column.type, self._since())
        while value is None and column.required:
            value = nullable(self.nulls, column.type, self._since())
        return value

    def _kind(self) -> str:
        if (
            self.table.merge not in ("deduplicate", "deletion-vectors")
            or "rowkind.field" in self.table.options
        ):
            return "+I"
        return self.random.choices(_KINDS, [8, 1, 2, 1])[0]

    def compact(self, name: str) -> None:
        self.judge.compact(self.warehouse, name)
        self._tell(f"stock compacts {name}")

    def alter(self) -> None:
        free = [each for each in self.table.columns if not each.role]
        change = self.random.choice(["add", "drop", "rename", "rename", "widen", "widen", "first", "key"])
        if change == "add" or not free:
            kind, word = self.random.choice(ADDED)
            column = Column(self._new_name(), kind)
            self.table.columns.append(column)
            self._altered("add", column, type=word)
        elif change == "drop" and len(free) > 1:
            column = self.random.choice(free)
            self.table.columns.remove(column)
            self._altered("drop", column)
        elif change == "widen":
            wider = [(each, new, word) for each in free for old, new, word in WIDER if each.type == old]
            if wider:
                column, kind, word = self.random.choice(wider)
                self._replace(column, replace(column, type=kind))
                self._altered("widen", column, type=word)
        elif change == "first" and free[-1] is not self.table.columns[0]:
            column = free[-1]
            self.table.columns.remove(column)
            self.table.columns.insert(0, column)
            self._altered("first", column)
        else:
            keys = [each for each in self.table.columns if each.role in ("key", "sequence")]
            column = self.random.choice(keys if keys and change == "key" else free)
            name = self._new_name()
            self._replace(column, replace(column, name=name))
            if column.name in self.pools:
                self.pools[name] = self.pools.pop(column.name)
            self._altered("rename", column, name=name)

    def loosen(self) -> None:
        """A column that was NOT NULL takes nulls from now on."""
        required = [each for each in self.table.columns if each.required]
        if required:
            column = self.nulls.choice(required)
            self._replace(column, replace(column, required=False))
            self._altered("loosen", column)

    def _replace(self, old: Column, new: Column) -> None:
        self.table.columns[self.table.columns.index(old)] = new

    def _altered(self, change: str, column: Column, **more: str) -> None:
        self._tell(f"alter: {change} {column.name} {more or ''}")
        self.judge.alter(self.warehouse, self.at, change, column.name, **more)

    def _newest(self) -> int:
        found: int = open_table(self.warehouse, self.table.name).snapshot_manager().get_latest_snapshot().id
        return found

    def _branch(self) -> None:
        name = self.table.name
        newest = self._newest()
        self.judge.create_tag(self.warehouse, name, "fork", newest)
        self.judge.create_branch(self.warehouse, name, "b", "fork")
        self._tell(f"branch b at {newest}")
        branch = f"{name}$branch_b"
        self.commit(branch)
        if self._is_looked_up():
            self.compact(branch)
        self.table.targets.append(Target(branch, tuple(self.table.columns)))


def types(columns: Sequence[Column]) -> list[pa.DataType]:
    return [each.type for each in columns]
