"""Make frames of tables that Paimon's own library reads, as a source of Spark's.

The library is in a jar that Spark's Java may lack: then such tables are refused.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from paimark.core.errors import Refused, Unavailable
from paimark.core.once import once_for_all
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess
from paimark.core.spark.datasource.table_options import ReadScope, Use, judged, mattering_newer
from paimark.core.spark.java.objects import has_library, new_instance
from paimark.core.spark.launch.jars import fetch_hint
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.access import HadoopStores
from paimark.core.table.definition.kind_signs import merge_engine
from paimark.core.table.definition.newer import format_hint, formats, of_format, of_option
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot

_KEPT = 32
# With them a table shows rows of other branches, whose commits its own snapshots don't tell.
_BRANCHES = ("scan.fallback-branch", "scan.primary-branch", "chain-table.enabled")
# A column's type, or a part of one.
_CHAR = re.compile(r'"CHAR\b')
_EXTERNAL = "data-file.external-paths"


class LibraryReads:
    """Keeps the tables that were read last, each with its plans."""

    def __init__(self, conf: SessionConf, warehouse: WarehouseAccess, stores: HadoopStores) -> None:
        self._conf = conf
        self._warehouse = warehouse
        self._stores = stores
        self._tables: OrderedDict[tuple[object, ...], Any] = OrderedDict()
        self._known: dict[str, bool] = {}

    @once_for_all
    def is_there(self) -> bool:
        """Whether Spark's Java has the library."""
        return has_library(self._conf.spark, "LibraryReads")

    def why(self, scan: Scan, scope: ReadScope) -> str:
        """Why it rather than Spark's own readers has to read the table; empty if these may."""
        options = scan.table_schema.options
        match = judged(options, Use(scan.branch, merge_engine(options), scope))
        if match is not None and match.rule.outcome == "library":
            return f"{match.option} is {match.value}"
        return "CHAR columns are padded to their length" if has_chars(scan) else ""

    def can_read(self, scan: Scan) -> bool:
        """Whether it is there, knows the table's options, and reaches its store by Hadoop's clients."""
        try:
            self.require_readable(scan)
        except (Refused, Unavailable):
            return False
        return True

    def require_readable(self, scan: Scan, why: str = "") -> None:
        """Raises `Refused` and `Unavailable` unless it can read the table. `why` tells why it has to."""
        if not self.is_there:
            needs = f"{scan.name} is read by Paimon's own library{why and f' ({why})'}"
            raise Refused(f"{needs}, and Spark has none here", fetch_hint())
        if lacking := self.lacks(scan):
            raise Refused(
                f"{scan.name} has the option {lacking}, which Paimon's library here is too old to know",
                "Let the option paimon.jar name a newer one, or read it with an engine of that version.",
            )
        schema = scan.table_schema
        for option, form in formats(schema.options, read=True):
            if not self._java.reads(form):
                raise Refused(
                    f"{scan.name} has the option {option} = {form}{of_format(form)}, "
                    "which Paimon's library here does not know",
                    format_hint(form),
                )
        self._stores.require_readable(self._address(f"{scan.root.schemas}/schema-{schema.id}"))
        for address in filter(None, schema.options.get(_EXTERNAL, "").split(",")):
            self._stores.require_readable(address.strip())

    def lacks(self, scan: Scan) -> str:
        """An option of the table that this library is too old for, and the Paimon it is of; else empty."""
        options = scan.table_schema.options
        for name, known_as in mattering_newer(options, Use(scan.branch, merge_engine(options))):
            if not self._knows(known_as):
                return f"{name}{of_option(name)}"
        return ""

    def _knows(self, option: str) -> bool:
        if not self.is_there:
            # Over Connect the library is a server's.
            return False
        if option not in self._known:
            # The end of a pattern is the option as the library has it.
            self._known[option] = bool(self._java.knows(option.rpartition("*.")[2]))
        return self._known[option]

    def frame(self, scan: Scan, scope: ReadScope, limit: int | None = None) -> DataFrame:
        """The rows of a table. Spark gets from it only the columns and rows that a statement needs.

        `limit` is how many rows are enough, if no condition leaves some out; None for all. Raises as `table`.
        """
        most = -1 if limit is None else min(limit, 2**31 - 1)
        return DataFrame(self._java.frame(self.table(scan, scope), most), self._conf.spark)

    def few(self, scan: Scan, scope: ReadScope, question: str) -> DataFrame | None:
        """The rows that answer the question of `lookups`; None if too many have to be looked at.

        Raises as `table`.
        """
        rows = self._java.few(self.table(scan, scope), question)
        return None if rows is None else DataFrame(rows, self._conf.spark)

    def stop(self) -> None:
        """Make a running `few` fail, if there is one. Any thread may call this."""
        if "_java" in self.__dict__:
            self._java.stop()

    def table(self, scan: Scan, scope: ReadScope) -> Any:
        """Java's table of a scan.

        Raises `Refused` if nobody knows any more which commits of other branches belong to the version.
        """
        if scope == "version":
            self._require_snapshot(scan)
        only = None if scan.only is None else "\n".join(scan.only)
        address = self._stores.address(self._address(scan.root.table.directory))
        key = (address, scan.branch, scan.schema, scan.snapshot, only, scope, self._stores.renewals)
        table = self._tables.pop(key, None)
        if table is None:
            branch = scan.branch
            table = self._java.table(address, branch, scan.schema, scan.snapshot, only, scope)
        if not (scope != "root" and stands_on_branches(scan.table_schema.options)):
            self._tables[key] = table
        if len(self._tables) > _KEPT:
            self._tables.popitem(last=False)
        return table

    def _require_snapshot(self, scan: Scan) -> None:
        """By the time of its file the library finds the commits of other branches."""
        if not stands_on_branches(scan.table_schema.options):
            return
        number = Snapshot.from_json(scan.snapshot.encode(), "the scan").id
        if not Lineage(self._warehouse.files, scan.root).has_snapshot(number):
            raise Refused(
                f"Snapshot {number} of {scan.name} has expired, and nobody knows any more which commits of "
                "the other branches belonged to it",
                f"A tag or savepoint keeps main's own part: `{scan.table}$branch_main` at this version.",
            )

    def _address(self, path: str) -> str:
        return f"{self._warehouse.files.uri.rstrip('/')}/{path}"

    @once_for_all
    def _java(self) -> Any:
        return new_instance(self._conf.spark, "library.LibraryReads", self._conf.spark._jsparkSession)


def has_chars(scan: Scan) -> bool:
    """Whether columns are padded when they are read."""
    return _CHAR.search(scan.schema) is not None


def stands_on_branches(options: Mapping[str, str]) -> bool:
    """Whether a table with these options shows rows of other branches."""
    return any(options.get(name, "false").strip().lower() != "false" for name in _BRANCHES)
