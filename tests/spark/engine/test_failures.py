"""What is left of Spark's errors: texts as Spark 4.1 raises them."""

from __future__ import annotations

import re

import pytest

from paimark.core.spark.engine.failures import sentences
from tests.wording import about


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL "
            "instead. SQLSTATE: 22012\n== SQL (line 1, position 8) ==\nselect 1/0\n       ^^^\n",
            "Division by zero",
            "Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)\n\n"
            "== SQL ==\nselec 1\n^^^\n",
            "Syntax error at or near 'selec'",
            "",
        ),
        (
            '[MISSING_AGGREGATION] The expression "a" is not in GROUP BY.\nAdd it. SQLSTATE: 42803;\n'
            "Aggregate [b#1], [a#0]\n+- LocalRelation [a#0, b#1]\n",
            'The expression "a" is not in GROUP BY',
            "Add it.",
        ),
        (
            "/lake/shop.db/t/bucket-0/data-1.parquet (Read-only file system)",
            "/lake/shop.db/t/bucket-0/data-1.parquet can't be used: read-only file system",
            "It is mounted read-only.",
        ),
        ("java.lang.IllegalStateException: it is closed", "it is closed", ""),
    ],
)
def test_one_sentence_and_a_hint_remain(text: str, message: str, hint: str) -> None:
    assert sentences(text) == (message, hint)


_LOST = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task "
)


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        (
            f"{_LOST}0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 1): ExecutorLostFailure (executor 1 exited "
            "caused by one of the running tasks) Reason: Command exited with code 137\nDriver stacktrace:",
            about("executors", "10.0.0.7"),
            about("--spark-conf spark.executor.memory=4g"),
        ),
        (
            "java.lang.StackOverflowError",
            about("statement", "too many parts"),
            about("--spark-conf spark.driver.extraJavaOptions=-Xss16m"),
        ),
        (
            f"{_LOST}0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 1): java.io.IOException: No way to hand in "
            "rows at edge7:40123 (Connection refused)\n\tat RowServer.open(Unknown Source)",
            about("edge7:40123", "10.0.0.7", "Connection refused"),
            about("spark.driver.host", "--spark-conf spark.paimark.result.port=7100", "=off"),
        ),
        (
            f"{_LOST}3.3 in stage 2.0 (TID 9) (node2 executor 4): "
            "java.io.IOException: No space left on device",
            about("disk", "node2", "full"),
            about("spark.local.dir", "SPARK_LOCAL_DIRS"),
        ),
        ("Job 3 cancelled because SparkContext was shut down", about("cluster ended"), about("logs")),
        (
            "Spark's Java has no class org.apache.hadoop.io.compress.BrotliCodec",
            about("no class", "org.apache.hadoop.io.compress.BrotliCodec"),
            about("compression", "--spark-conf spark.jars=FILE"),
        ),
        ("", about("Spark", "failed"), about()),
    ],
)
def test_what_spark_says_in_its_own_words_is_told_in_ours(
    text: str, told: re.Pattern[str], hint: re.Pattern[str]
) -> None:
    message, help_ = sentences(text)
    assert told.search(message) and hint.search(help_) and "Lost task" not in message
