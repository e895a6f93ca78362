"""A stock Spark session with the stock Paimon connector that answers SQL, in its own environment."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from benchmarks.peers.sql_session import answer_lines


def main() -> None:
    warehouse, jar, settings = sys.argv[1:]
    builder = SparkSession.builder.appName("stock")
    for name, value in {
        **json.loads(settings),
        "spark.jars": jar,
        "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
        "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": warehouse,
        "spark.sql.defaultCatalog": "paimon",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    answer_lines(lambda sql: session.sql(sql).collect())
    session.stop()


if __name__ == "__main__":
    main()
