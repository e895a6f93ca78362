"""Apache Paimon tables from Python: savepoints, branches, tags, time travel and rows as Arrow.

    import paimark

    warehouse = paimark.open("s3://lake/warehouse", options={"s3.endpoint": "http://minio:9000"})
    orders = warehouse.table("shop.orders")
    saved = orders.create_savepoint(comment="before the fix")
    rows = orders.at(f"savepoint.{saved.savepoint_id}").to_arrow()

Only the actions of a table (`create_savepoint`, ..., `apply`) write. Every error is a `PaimarkError`, with
`message`, one sentence, and `hint`. Times are epoch milliseconds, sizes are bytes, and counts are of rows
before rows of one key are merged. Warnings and notes are logged to `paimark`. Texts are returned as the
table has them: clean them before you show them on a terminal.

`import paimark` imports neither pyarrow, pypaimon nor pyspark. `to_arrow` needs the first two;
`PaimarkSource`, for Spark's `spark.dataSource.register`, needs the last.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimark.api import *
    from paimark.results import *
else:
    # Every import of a module of the console or in Spark's workers begins here, and needs none of the names.
    def __getattr__(name: str) -> Any:
        if name == "__all__" or not name.startswith("_"):
            api = import_module("paimark.api")
            if hasattr(api, name):
                return getattr(api, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*globals(), *import_module("paimark.api").__all__])
