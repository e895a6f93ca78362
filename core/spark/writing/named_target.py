"""The target of a write that options name, as programs give them to the data source."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from paimark.core.errors import UsageError
from paimark.core.spark.datasource.options import catalog_options
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import MAIN
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import COMMIT_USER


def find_target(options: Mapping[str, str], overwrite: bool) -> WriteTarget:
    """The target that the options name, with its newest schema. Raises `UsageError` and `NotFound`."""
    own = catalog_options(options)
    files = open_files(options["warehouse"], own)
    branch = options.get("branch")
    root = branch_root(files, find_table(files, options["table"]), branch)
    lineage = Lineage(files, root)
    mode = options.get("partitionOverwriteMode", "static").lower()
    if mode not in ("static", "dynamic"):
        raise UsageError(f"partitionOverwriteMode is static or dynamic, not {mode}")
    return WriteTarget(
        *WarehouseAccess(files, options["warehouse"], own).address(root),
        lineage.require_schema().to_json().decode(),
        follows_main=branch is None or branch == MAIN,
        commit_user=f"{COMMIT_USER}{uuid.uuid4()}",
        known=lineage.latest_id() or 0,
        overwrite=overwrite,
        dynamic=mode == "dynamic",
        operation="overwrite" if overwrite else "write",
    )
