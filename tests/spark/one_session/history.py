"""A table that stock Paimon, pypaimon and our actions change in turns, always under the same name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError
from paimark.core.spark.client.client import Engine
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import TableSchema
from tests.interop.judge import Judge, JudgeError
from tests.spark.generated_tables import Generated, Maker
from tests.spark.generated_tables_values import Plain
from tests.spark.one_session.versions import Version, columns_of, heads, judged, past, roots_of

TABLE, TWIN = TablePath("one_session", "t"), TablePath("one_session", "twin")
_AGGREGATES = ("max", "min", "last_non_null_value", "sum")
# What a column may become, whatever it was.
_TYPES = ["STRING", "BIGINT", "INT", "DOUBLE", "DECIMAL(20, 2)", "DATE", "TIMESTAMP(3)", "VARCHAR(3)"]
_LENT = "judged"
# In turns, by the seed: what Spark's own readers read most often.
ONLY = [
    ("deduplicate", "parquet"),
    ("append", "parquet"),
    ("deduplicate", "orc"),
    ("deletion-vectors", "parquet"),
    ("deduplicate", "avro"),
    ("partial-update", "parquet"),
    ("deduplicate", "parquet"),
    ("first-row", "parquet"),
    ("append", "orc"),
    ("aggregation", "parquet"),
    ("append", "avro"),
    ("deletion-vectors", "orc"),
]


# How often each is done.
_STEPS = {
    "commit": 40,
    "compact": 9,
    "alter": 9,
    "loosen": 3,
    "alter_type": 3,
    "savepoint": 6,
    "tag": 6,
    "branch": 6,
    "delete_tag": 2,
    "delete_savepoint": 2,
    "delete_branch": 2,
    "expire": 4,
    "roll_back": 3,
    "truncate": 3,
    "replace_main": 3,
    "merge": 2,
    "undo": 4,
    "redo": 2,
    "insert": 3,
    "overwrite": 1,
    "back_up": 2,
    "restore": 2,
    "make_twin": 2,
    "swap_with_twin": 2,
    "create_anew": 2,
}


class _Table(Generated):
    @property
    def name(self) -> str:
        return TABLE.full_name


class History:
    """Of the seed. `story` is what was done, a line a step.

    `retypes`: columns get other types now and then, and what stock makes of older values may be refused here.
    """

    def __init__(
        self,
        seed: int,
        warehouse: Path,
        judge: Judge,
        context: Context,
        engine: Engine,
        backup: Path,
        *,
        retypes: bool,
    ) -> None:
        self.random = Random(f"history of {seed}")
        self.warehouse, self.judge, self.context, self.engine = warehouse, judge, context, engine
        self._drop(TABLE)
        self._drop(TWIN)
        self.table = _Table(seed, only=ONLY[seed % len(ONLY)])
        self.story = self.table.story
        self._begin()
        self._backup = backup
        shutil.rmtree(backup, ignore_errors=True)
        self._names = 0
        self._weights = _STEPS if retypes else {**_STEPS, "alter_type": 0}

    def step(self, name: str | None = None) -> str:
        """Do something; what, and what came of it: that stock or we refuse it is no fault."""
        if name is None:
            (name,) = self.random.choices(list(self._weights), list(self._weights.values()))
        do: Callable[[], object] = getattr(self, f"_{name}")
        try:
            said = do()
        except JudgeError as error:
            said = f"stock refuses: {str(error)[:150]}"
        except PaimarkError as error:
            said = f"refused: {error.message[:150]}"
        line = f"{name}: {said or 'done'}"
        self.story.append(line)
        return line

    def end(self) -> None:
        """Leave no table."""
        shutil.rmtree(self.warehouse / f"{TABLE.database}.db")

    def versions(self, some: int) -> list[Version]:
        """Main's newest, and so many of all others."""
        files = self.context.files
        main, *others = heads(files, TABLE)
        others += past(self.random, files, TABLE)
        if self._is_there(TWIN):
            others += heads(files, TWIN)[:1]
        return [main, *self.random.sample(others, min(some, len(others)))]

    def rows(self, version: Version) -> list[list[Plain]]:
        """As stock reads them. It looks for tags of any branch in the table directory."""
        if version.tag is None:
            return self.judge.rows(self.warehouse, version.judged, snapshot=version.snapshot)
        lent = self.warehouse / TABLE.root().tag(_LENT)
        lent.parent.mkdir(exist_ok=True)
        lent.write_bytes((self.warehouse / version.tag).read_bytes())
        try:
            return self.judge.rows(self.warehouse, version.judged, tag=_LENT)
        finally:
            lent.unlink()

    def _main(self) -> Root:
        return main_root(self.context.files, TABLE)

    def _roots(self) -> list[Root]:
        return roots_of(self.context.files, TABLE)

    def _is_there(self, table: TablePath) -> bool:
        return (self.warehouse / table.directory).is_dir()

    def _schema(self, root: Root) -> TableSchema:
        return Lineage(self.context.files, root).require_schema()

    def _new_name(self, word: str) -> str:
        self._names += 1
        # Names come again, of other things.
        return f"{word}{self._names % 4}"

    def _at(self, root: Root) -> Maker:
        """Writes to the root."""
        schema = self._schema(root)
        maker = self._maker
        maker.at = judged(root)
        self.table.columns = list(columns_of(schema))
        maker.pools = {
            field.name: self._pools[field.id] for field in schema.fields if field.id in self._pools
        }
        for column in self.table.columns:
            if column.role in _AGGREGATES:
                self.table.options[f"fields.{column.name}.aggregate-function"] = column.role
        return maker

    def _some_root(self) -> Root:
        return self._main() if self.random.random() < 0.6 else self.random.choice(self._roots())

    def _commit(self) -> object:
        root = self._some_root()
        self._at(root).commit(judged(root))
        return None

    def _compact(self) -> object:
        self.judge.compact(self.warehouse, judged(self._some_root()))
        return None

    def _alter(self) -> object:
        self._at(self._some_root()).alter()
        return None

    def _loosen(self) -> object:
        self._at(self._some_root()).loosen()
        return None

    def _alter_type(self) -> object:
        root = self._some_root()
        free = [each.name for each in columns_of(self._schema(root)) if not each.role]
        wanted = {self.random.choice(free): self.random.choice(_TYPES)} if free else {}
        self.judge.alter_types(self.warehouse, judged(root), wanted)
        return wanted

    def _savepoint(self) -> object:
        return self._do("create-savepoint")

    def _tag(self) -> object:
        root = self._some_root()
        name = self._new_name("tag")
        branch = {} if root.branch == self._main().branch else {"branch": root.branch}
        ids = Lineage(self.context.files, root).snapshot_ids()
        if ids and root.branch is None and self.random.random() < 0.3:
            self.judge.create_tag(self.warehouse, judged(root), name, self.random.choice(ids))
            return f"stock's {name}"
        return self._do("create-tag", name=name, **branch)

    def _branch(self) -> object:
        tags = Lineage(self.context.files, self._main()).tag_names()
        if not tags:
            return "no tag"
        return self._do("create-branch", name=self._new_name("b"), tag=self.random.choice(tags))

    def _delete_tag(self) -> object:
        tags = Lineage(self.context.files, self._main()).tag_names()
        return self._do("delete-tag", name=self.random.choice(tags)) if tags else "no tag"

    def _delete_savepoint(self) -> object:
        ids = [path.name.removeprefix("savepoint-") for path in self._files(TABLE.savepoints)]
        numbers = [int(each) for each in ids if each.isdigit()]
        return self._do("delete-savepoint", id=self.random.choice(numbers)) if numbers else "no savepoint"

    def _delete_branch(self) -> object:
        branch = self._other_branch()
        return self._do("delete-branch", name=branch) if branch else "no branch"

    def _expire(self) -> object:
        root = self._some_root()
        retain = self.random.choice([1, 2, 5])
        if self.random.random() < 0.5:
            return f"{self.judge.expire(self.warehouse, judged(root), retain)} by stock"
        branch = {} if root.branch == self._main().branch else {"branch": root.branch}
        return self._do("expire-snapshots", retain_last=retain, **branch)

    def _roll_back(self, **more: object) -> object:
        lineage = Lineage(self.context.files, self._main())
        names = [f"snapshot.{each}" for each in lineage.snapshot_ids()] + lineage.tag_names()
        return self._do("rollback", to=self.random.choice(names), **more) if names else "no version"

    def _truncate(self) -> object:
        return self._roll_back(truncate=True)

    def _replace_main(self) -> object:
        branch = self._other_branch()
        layout = self.random.choice(["pointer", "pointer", "overwrite"])
        return self._do("replace-main-branch", name=branch, layout=layout) if branch else "no branch"

    def _merge(self) -> object:
        branch = self._other_branch()
        return self._do("merge-branch", name=branch, on_conflict="branch") if branch else "no branch"

    def _undo(self) -> object:
        return self._do("undo")

    def _redo(self) -> object:
        return self._do("redo")

    def _insert(self) -> object:
        """The rows of another version, by the engine that is asked."""
        lineage = Lineage(self.context.files, self._main())
        now = [field.id for field in self._schema(self._main()).fields]
        alike = [
            each.id
            for each in lineage.snapshots()
            if [field.id for field in lineage.schema(each.schema_id).fields] == now
        ]
        if not alike:
            return "no version"
        name = f"{TABLE.database}.{TABLE.name}"
        return self._run(f"INSERT INTO {name} SELECT * FROM {name} VERSION AS OF {self.random.choice(alike)}")

    def _overwrite(self) -> object:
        name = f"{TABLE.database}.{TABLE.name}"
        return self._run(f"INSERT OVERWRITE {name} SELECT * FROM {name} LIMIT 5")

    def _back_up(self) -> object:
        shutil.rmtree(self._backup, ignore_errors=True)
        shutil.copytree(self.warehouse / TABLE.directory, self._backup)
        return None

    def _restore(self) -> object:
        """Somebody brings back what was there some time ago: ids are given once more."""
        if not self._backup.is_dir():
            return "no backup"
        shutil.rmtree(self.warehouse / TABLE.directory)
        shutil.copytree(self._backup, self.warehouse / TABLE.directory)
        return None

    def _make_twin(self) -> object:
        """The same snapshots, schemas and names of files in another place."""
        self._drop(TWIN)
        shutil.copytree(self.warehouse / TABLE.directory, self.warehouse / TWIN.directory)
        return None

    def _swap_with_twin(self) -> object:
        if not self._is_there(TWIN):
            return "no twin"
        here, there = (self.warehouse / each.directory for each in (TABLE, TWIN))
        aside = here.with_name("aside")
        here.rename(aside)
        there.rename(here)
        aside.rename(there)
        return None

    def _create_anew(self) -> object:
        """Of the same definition: its first snapshot is 1 again."""
        self._drop(TABLE)
        self.table.options.clear()
        self._begin()
        return None

    def _begin(self) -> None:
        self._maker = Maker(self.table, self.warehouse, self.judge)
        self._maker.begin()
        schema = self._schema(TABLE.root())
        pools = self._maker.pools
        self._pools = {field.id: pools[field.name] for field in schema.fields if field.name in pools}

    def _other_branch(self) -> str | None:
        main = self._main().branch
        names = [each.branch for each in self._roots() if each.branch not in (None, main)]
        return self.random.choice(names) if names else None

    def _files(self, directory: str) -> Sequence[Path]:
        return sorted((self.warehouse / directory).glob("*"))

    def _drop(self, table: TablePath) -> None:
        shutil.rmtree(self.warehouse / table.directory, ignore_errors=True)

    def _do(self, name: str, /, **arguments: object) -> str:
        chosen = action(name)
        plan = chosen.plan(self.context, TABLE, arguments)
        if plan.refusals:
            return f"{arguments} refused: {plan.refusals[0].reason[:150]}"
        return f"{arguments} {chosen.apply(self.context, plan, lambda line: None).message}"

    def _run(self, sql: str) -> str:
        call = CallMode(agree=lambda chosen, plan: None)
        *_, end = run_statement(context_for(self.engine), sql, call=call)
        return f"{sql} {end}"
