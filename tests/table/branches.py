"""Branches as pypaimon makes them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.paimon import open_table


def create_branch(warehouse: Path, table: str, name: str, tag: str | None = None) -> None:
    """From a tag, or with schemas alone."""
    open_table(warehouse, table).branch_manager().create_branch(name, tag)


def fast_forward(table: Path, name: str) -> None:
    """Main becomes the branch as stock Paimon for Java does it: nothing is tagged, and its options come."""
    branch = table / "branch" / f"branch-{name}"
    first = min(_number(path) for path in (branch / "snapshot").glob("snapshot-*"))
    schema = json.loads((branch / f"snapshot/snapshot-{first}").read_bytes())["schemaId"]
    (table / "snapshot/LATEST").unlink()
    for path in [*(table / "snapshot").glob("snapshot-*"), *(table / "schema").glob("schema-*")]:
        if _number(path) >= (first if path.parent.name == "snapshot" else schema):
            path.unlink()
    for path in (table / "tag").glob("tag-*"):
        if json.loads(path.read_bytes())["id"] >= first:
            path.unlink()
    for directory in ("snapshot", "schema", "tag"):
        shutil.copytree(branch / directory, table / directory, dirs_exist_ok=True)


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])
