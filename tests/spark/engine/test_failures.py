"""What is left of Spark's errors: texts as Spark 4.1 raises them."""

from __future__ import annotations

import pytest

from paimark.core.spark.engine.failures import sentences


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
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost "
            "task 0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 1): ExecutorLostFailure (executor 1 exited "
            "caused by one of the running tasks) Reason: Command exited with code 137\nDriver stacktrace:",
            "Executors were lost while they worked on the statement, the last one on 10.0.0.7",
            "Run it again; --spark-conf spark.executor.memory=4g gives them more memory.",
        ),
        (
            "java.lang.StackOverflowError",
            "The statement has too many parts within each other for Spark",
            "One IN does for many ORs; --spark-conf spark.driver.extraJavaOptions=-Xss16m makes room.",
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
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost "
            "task 0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 1): java.io.IOException: No way to hand in "
            "rows at edge7:40123 (Connection refused)\n\tat RowServer.open(Unknown Source)",
            "Rows can't be handed in at edge7:40123 from 10.0.0.7 (Connection refused)",
            "That is this machine, as spark.driver.host has it. --spark-conf spark.paimark.result.port=7100 "
            "settles the port that must be open, =off lets rows go Spark's own way.",
        ),
        (
            "Job aborted due to stage failure: Task 3 in stage 2.0 failed 4 times, most recent failure: Lost "
            "task 3.3 in stage 2.0 (TID 9) (node2 executor 4): java.io.IOException: No space left on device",
            "A disk of node2 is full: the warehouse's, or that where Spark keeps what memory can't hold",
            "Free some space there, or let spark.local.dir name a larger disk for Spark (on a cluster its "
            "workers' SPARK_LOCAL_DIRS, or YARN's local directories).",
        ),
        (
            "Job 3 cancelled because SparkContext was shut down",
            "The cluster ended this application while the statement ran",
            "Somebody stopped it there, or its executors failed too often: its logs say which. Run it again.",
        ),
        (
            "Spark's Java has no class org.apache.hadoop.io.compress.BrotliCodec",
            "Spark's Java has no class org.apache.hadoop.io.compress.BrotliCodec",
            "A table option needs it, as its compression may: --spark-conf spark.jars=FILE brings it.",
        ),
        ("java.lang.IllegalStateException: it is closed", "it is closed", ""),
        ("", "Spark failed without saying why", ""),
    ],
)
def test_one_sentence_and_a_hint_remain(text: str, message: str, hint: str) -> None:
    assert sentences(text) == (message, hint)
