"""`python -m tests.java_archive`: the archive of the classes that Spark loads, unless it is there.

Before a run in several processes, as an engine would make it when it ends: in the background, so that beside
tests it is not ready before they are.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from paimark.core.spark.launch import jvm
from paimark.core.spark.launch.cds import Archive
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import loaded_jars
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.launch.session_settings import WARM_UP
from tests.spark.standalone import SPARING

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": SPARING,
    WARM_UP: "off",
}
TAILS = ("WHERE id = 1", "ORDER BY name", "LIMIT 1", "VERSION AS OF 1 WHERE name > 'a'")


def missing() -> Archive | None:
    """The archive of the suite's engines, if it is to be made."""
    spark = find_spark()
    archive = jvm.class_archive(find_java(), spark, {}, loaded_jars(spark, {}))
    return None if archive is None or archive.path.exists() else archive


def main() -> None:
    if (archive := missing()) is not None:
        # It was too slow beside something else.
        archive.path.with_suffix(".failed").unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as place:
            archive.build(classes(Path(place)))


def classes(place: Path) -> Path:
    """The list of what Java loads for reading and writing."""
    # Only here: to import all of it takes longer than the look for an archive.
    import pyarrow as pa

    from paimark.core.spark.engine.classic import classic_runner
    from paimark.core.spark.launch.session import start_spark
    from paimark.core.spark.protocol import Run, Start
    from tests.paimon import commit, create_table

    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    warehouse = place / "warehouse"
    create_table(warehouse, "classes.keyed", schema, primary_keys=["id"], options={"bucket": "1"})
    for name in ("old", "new"):
        commit(warehouse, "classes.keyed", pa.table([[1, 2], [name, name]], schema=schema))
    start = Start(str(warehouse), {}, "local[2]", SETTINGS, str(place), False)
    spark = start_spark(start)
    with ExitStack() as ending:
        ending.callback(spark.stop)
        runner = classic_runner(spark, start)
        queries = [f"SELECT * FROM classes.keyed {tail}" for tail in TAILS]
        for number, sql in enumerate([*queries, "SELECT name, count(*) FROM classes.keyed GROUP BY name"]):
            runner.run(Run(number, sql, limit=100), lambda report: None)
        rows = spark.session.sql("SELECT 3L AS id, 'three' AS name")
        sink = rows.write.format("paimark").options(warehouse=str(warehouse), table="classes.keyed")
        sink.mode("append").save()
    return place / "loaded-classes"


if __name__ == "__main__":
    main()
