"""Reading metadata loads none of the heavy libraries, and local files not even fsspec."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ["pypaimon", "pandas", "polars", "numpy", "pyarrow", "pyspark", "fastavro"]
PROGRAM = """
import sys
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import databases, find_table, tables
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.savepoints import SavepointManager
from paimark.core.table.system_tables import SYSTEM_TABLES, system_table
files = open_files(sys.argv[1])
for database in databases(files):
    for table in tables(files, database):
        root = main_root(files, table)
        assert Lineage(files, root).newest(10)
        assert SavepointManager(files, table).all() == []
        # The files of a snapshot are listed in its manifests, and those are Avro.
        for name in set(SYSTEM_TABLES) - {"files"}:
            list(system_table(name).read(files, root))
print(*sorted(name for name in sys.modules if "." not in name))
"""


def test_reading_local_tables_loads_nothing_heavy(warehouse: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(warehouse)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "msgspec" in loaded
    assert not set(loaded) & {*HEAVY, "fsspec", "s3fs", "asyncio"}


def test_reading_remote_tables_loads_nothing_heavy() -> None:
    program = "import sys; from paimark.core.storage.open import open_files; open_files('s3://lake/x')\n"
    command = [sys.executable, "-c", program + "print(*sys.modules)"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "s3fs" in loaded
    assert not set(loaded) & set(HEAVY)
