"""Make data frames of summaries, by `Summaries.java`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.native.summaries.summary import SummaryRow


def summary_frame(
    session: SparkSession, table: StructType, names: Sequence[str], rows: Sequence[SummaryRow]
) -> DataFrame:
    """The frame of a table's summary. Its rows have values for the columns `names`; the others are null."""
    texts = msgspec.json.encode([[count, *values] for count, values in rows]).decode()
    java = _java(session)
    return DataFrame(java.summary(table.json(), list(names), texts), session)


@lru_cache(maxsize=1)
def _java(session: SparkSession) -> Any:
    return new_instance(session, "scans.Summaries", session._jsparkSession)
