"""The judge: stock Paimon for Java, a server that reads and changes tables, one for all of a run."""

from __future__ import annotations

import datetime
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Event, Thread
from typing import Any

Row = dict[str, Any]


class JudgeError(Exception):
    """An exception of stock Paimon."""


class Judge:
    """A connection to the server. Table names are stock Paimon's: `shop.orders`, `shop.orders$branch_b`."""

    def __init__(self, port: int, log: Path) -> None:
        self._log = log
        self._session: str | None = None
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rw", encoding="utf-8", newline="\n")

    def read(
        self, warehouse: Path, table: str, *, tag: str | None = None, snapshot: int | None = None
    ) -> list[Row]:
        """All rows, sorted. Also for system tables (`shop.orders$snapshots`)."""
        options: dict[str, str] = {}
        if tag is not None:
            options["scan.tag-name"] = tag
        if snapshot is not None:
            options["scan.snapshot-id"] = str(snapshot)
        rows: list[Row] = self._ask("read", warehouse, table, options=options)
        return comparable(rows)

    def write(self, warehouse: Path, table: str, rows: Iterable[Mapping[str, Any]], kind: str = "+I") -> None:
        """Make one commit; `kind` is the rows' kind (`+I`, `-D`)."""
        self._ask("write", warehouse, table, rows=comparable(rows), kind=kind)

    def rows(
        self,
        warehouse: Path,
        table: str,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> list[list[Any]]:
        """All rows as lists of fields, unsorted and without loss: see `Values.java`."""
        options = {} if snapshot is None else {"scan.snapshot-id": str(snapshot)}
        if tag is not None:
            options["scan.tag-name"] = tag
        wanted = {} if columns is None else {"columns": list(columns)}
        rows: list[list[Any]] = self._ask("rows", warehouse, table, options=options, **wanted)
        return rows

    def put(
        self,
        warehouse: Path,
        table: str,
        rows: Sequence[tuple[str, Sequence[Any]]],
        *,
        postpones: bool = False,
        joins: bool = False,
    ) -> None:
        """Commit rows, each with its kind (`+I`, `-D`) and its fields as `rows` returns them.

        `postpones` writes them to the postponed bucket, if the table has one; `joins` joins the changelogs of
        all buckets to one file, as a job of Flink does.
        """
        kinds, fields = [kind for kind, _ in rows], [each for _, each in rows]
        words = {"rows": fields, "kinds": kinds, "postpones": postpones, "joins": joins}
        self._ask("put", warehouse, table, **words)

    def create(
        self,
        warehouse: Path,
        table: str,
        columns: Mapping[str, str],
        *,
        keys: Sequence[str] = (),
        partitions: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Create a table, and its database. `columns` has Paimon's type texts by name."""
        words = {"columns": list(columns.items()), "keys": list(keys), "partitions": list(partitions)}
        self._ask("create", warehouse, table, **words, options=dict(options or {}))

    def misplaced(self, warehouse: Path, table: str) -> list[list[Any]]:
        """The rows, as `rows` returns them, in another partition or bucket than stock would use."""
        rows: list[list[Any]] = self._ask("misplaced", warehouse, table)
        return rows

    def look_up(self, warehouse: Path, table: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """For each of these rows, the row that a look-up by its key finds, or None."""
        found: list[Any] = self._ask("look-up", warehouse, table, rows=list(rows))
        return found

    def changes(self, warehouse: Path, table: str, after: int, until: int) -> list[Row]:
        """The changes that a streaming reader gets for the snapshots in a range, each with its `rowkind`."""
        options = {
            "incremental-between": f"{after},{until}",
            "incremental-between-scan-mode": "changelog",
        }
        rows: list[Row] = self._ask("read", warehouse, f"{table}$audit_log", options=options)
        return comparable(rows)

    def alter(self, warehouse: Path, table: str, change: str, column: str, **more: str) -> None:
        """Change the schema: `add` and `widen` (with `type`), `rename` (with `name`), `drop`, `first`.

        `loosen` lets a column hold nulls.
        """
        self._ask("alter", warehouse, table, change=change, column=column, **more)

    def alter_types(self, warehouse: Path, table: str, columns: Mapping[str, str]) -> list[str]:
        """Change the types of columns, if stock Paimon can cast to them; returns the changed columns."""
        changed: list[str] = self._ask("alter-types", warehouse, table, columns=list(columns.items()))
        return changed

    def compact(self, warehouse: Path, table: str) -> None:
        """Full compaction."""
        self._ask("compact", warehouse, table)

    def statistics(self, warehouse: Path, table: str) -> Any:
        """Those of an analysis: by column `[values, least, greatest, nulls, greatest length]`; rows by ""."""
        return self._ask("statistics", warehouse, table)

    def delete_rows(self, warehouse: Path, table: str, numbers: Sequence[int]) -> None:
        """Delete rows by their number in each data file, with deletion vectors. No keys, no buckets."""
        self._ask("delete-rows", warehouse, table, numbers=list(numbers))

    def expire(self, warehouse: Path, table: str, retain: int = 1) -> int:
        """Keep the newest `retain` snapshots; returns the number of expired ones."""
        gone: int = self._ask("expire", warehouse, table, retain=retain)
        return gone

    def expire_by_options(self, warehouse: Path, table: str) -> int:
        """Expire as the table's own options say; returns the number of expired snapshots."""
        gone: int = self._ask("expire", warehouse, table)
        return gone

    @contextmanager
    def expiring(self, warehouse: Path, table: str, stop_at: int) -> Iterator[Callable[[], None]]:
        """Within the context, an expiry of all but the newest snapshot waits before its deletion `stop_at`.

        It has read the tags by then. The yielded function lets it continue: from a data file to the first
        manifest, otherwise to its end. If there are fewer deletions, it has ended.
        """
        first, second = (warehouse / f"gate-{stop_at}.{number}" for number in (1, 2))
        ended = Event()
        failures: list[JudgeError] = []

        def expire() -> None:
            gate = str(first.with_suffix(""))
            try:
                self._ask("expire", warehouse, table, retain=1, gate=gate, stopAt=stop_at)
            except JudgeError as error:
                failures.append(error)
            finally:
                ended.set()

        def wait_for(gate: Path) -> None:
            reached = gate.with_name(f"{gate.name}.reached")
            while not (reached.exists() or ended.wait(0.002)):
                pass

        def go_on() -> None:
            first.touch()
            wait_for(second)

        expiry = Thread(target=expire)
        expiry.start()
        try:
            wait_for(first)
            yield go_on
        finally:
            first.touch()
            second.touch()
            expiry.join()
        if failures:
            raise failures[0]

    def clean_orphans(self, warehouse: Path, table: str) -> list[str]:
        """Delete every orphan file, of any age; returns their paths."""
        deleted: list[str] = self._ask("clean-orphans", warehouse, table)
        return deleted

    @contextmanager
    def cleaning(self, warehouse: Path, table: str) -> Iterator[Callable[[], None]]:
        """Within the context, an orphan cleaning has listed the branches, and waits.

        The yielded function lets it go on, to its end. It waits for that.
        """
        gate = warehouse / "cleaning"
        first, ended = gate.with_name("cleaning.1"), Event()
        failures: list[JudgeError] = []

        def clean() -> None:
            try:
                self._ask("clean-orphans", warehouse, table, gate=str(gate))
            except JudgeError as error:
                failures.append(error)
            finally:
                ended.set()

        def go_on() -> None:
            first.touch()
            ended.wait()

        cleaning = Thread(target=clean)
        cleaning.start()
        try:
            while not (gate.with_name("cleaning.1.reached").exists() or ended.wait(0.002)):
                pass
            yield go_on
        finally:
            first.touch()
            cleaning.join()
        if failures:
            raise failures[0]

    def create_tag(self, warehouse: Path, table: str, tag: str, snapshot: int) -> None:
        self._ask("create-tag", warehouse, table, tag=tag, snapshot=snapshot)

    def delete_tag(self, warehouse: Path, table: str, tag: str) -> None:
        self._ask("delete-tag", warehouse, table, tag=tag)

    def create_branch(self, warehouse: Path, table: str, branch: str, tag: str) -> None:
        self._ask("create-branch", warehouse, table, branch=branch, tag=tag)

    def delete_branch(self, warehouse: Path, table: str, branch: str) -> None:
        self._ask("delete-branch", warehouse, table, branch=branch)

    def fast_forward(self, warehouse: Path, table: str, branch: str) -> None:
        """Replace main, from the branch's first snapshot on, by the branch, with its schemas and tags."""
        self._ask("fast-forward", warehouse, table, branch=branch)

    def create_if_not_exists(self, warehouse: Path, table: str) -> None:
        """Create a table of one column, unless the table exists."""
        self._ask("create-if-not-exists", warehouse, table)

    def drop(self, warehouse: Path, table: str) -> None:
        self._ask("drop", warehouse, table)

    def options(self) -> list[str]:
        """The keys of all table options of stock Paimon."""
        keys: list[str] = self._ask("options", Path(), "")
        return keys

    def takes_option(self, option: str, value: str) -> bool:
        """Whether stock Paimon can read this value of a table option."""
        takes: bool = self._ask("takes-option", Path(), "", option=option, value=value)
        return takes

    def printed(self, program: str, given: str) -> str:
        """What one of our own Java programs prints when it is given this."""
        printed: str = self._ask("program", Path(), "", program=program, given=given)
        return printed

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    @contextmanager
    def session(self, name: str) -> Iterator[None]:
        """Within the context, requests come from one long-running job, which caches its open tables."""
        self._session = name
        try:
            yield
        finally:
            self._session = None

    def _ask(self, command: str, warehouse: Path, table: str, **arguments: Any) -> Any:
        request = {"command": command, "warehouse": str(warehouse), "table": table, **arguments}
        if self._session is not None:
            request["session"] = self._session
        self._lines.write(json.dumps(request) + "\n")
        self._lines.flush()
        line = self._lines.readline()
        if not line:
            raise JudgeError(f"the Java program ended:\n{self._log.read_text()[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise JudgeError(answer["error"])
        return answer["result"]


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows of any reader in the judge's format (JSON's types, all others as text), sorted."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return sorted(plain, key=lambda row: json.dumps(row, sort_keys=True))


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")[: None if value.microsecond % 1000 else -3]
        case datetime.date() | Decimal():
            return str(value)
    raise TypeError(f"no plain form of {type(value).__name__}")
