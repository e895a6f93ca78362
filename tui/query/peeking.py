"""Read the first rows of a version without Spark, in a process that can be killed at any time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from paimark.core.errors import Unavailable
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.text import clean_text
from paimark.core.travel.diff.versions import DiffVersion, find_version
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.named_keys import key
from paimark.tui.session import Session, Target
from paimark.tui.work.background import ThreadReport

PEEKED = 100


class Peeking:
    """One such read: call `read` in a thread, and `stop` from any thread."""

    def __init__(self, session: Session, target: Target, requested: RequestedVersion) -> None:
        self.session = session
        self._target = target
        self._requested = requested
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        # Of what was read last: whether it was the newest then. A job may have committed since.
        self.was_newest = False

    @property
    def table(self) -> TablePath:
        return self._target.table

    @property
    def branch(self) -> str | None:
        return self._requested.branch

    def read(self, report: ThreadReport[tuple[DiffVersion, Any]]) -> None:
        """Report the version found and its rows (a pyarrow Table). Raises `NotFound` and `Unavailable`."""
        files = self.session.files
        version = find_version(files, self._target.table, self._requested)
        self.was_newest = version.snapshot is not None and (
            version.name is None or version.snapshot.id == Lineage(files, version.root).latest_id()
        )
        warehouse = WarehouseAccess(files, files.uri, self.session.settings.options)
        scan = make_scan(warehouse, version.root, version.snapshot, pinned=version.name is not None)
        with self.session.room.paused():
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "paimark.core.cli.query.peek", str(PEEKED)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            if self._stopped:
                process.kill()
            out, errors = process.communicate(scan.to_text().encode())
        if self._stopped:
            return
        if process.returncode != 0:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise Unavailable(
                f"The rows could not be read: {clean_text(last) or f'exit code {process.returncode}'}",
                f"{key('pane.query', 'enter')} on its row prepares the query that reads them with Spark.",
            )
        report((version, _table(out)))

    def stop(self) -> None:
        """End the read: the rows are not wanted any more."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


def _table(data: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
