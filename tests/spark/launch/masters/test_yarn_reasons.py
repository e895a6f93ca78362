"""Of YARN's reports the one line is shown that says why; the reports are those of real starts that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.launch.masters import start_failure
from tests.wording import about

REPORTS = Path(__file__).parent / "reports"


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ("no_name_service", "UnknownHostException: lake"),
        ("no_realm", "IllegalArgumentException: KrbException: Cannot locate default realm"),
        ("no_class", "ClassNotFoundException: org.apache.spark.deploy.yarn.ExecutorLauncher"),
    ],
)
def test_the_reason_is_found_in_a_real_report(report: str, reason: str) -> None:
    failed = start_failure("yarn", (REPORTS / f"{report}.txt").read_text())
    assert about("yarn").search(failed.message) and failed.message.endswith(f": {reason}")
    assert failed.hint.startswith("`yarn logs -applicationId application_1795660393827_")


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (
            # Of an older YARN, whose lines are in another order.
            "Application application_17_3 failed 2 times due to AM Container for attempt_2 exited with "
            "exitCode: -104\nFor more detailed output, check application tracking page:http://h:8088/proxy\n"
            "Diagnostics: Container [pid=4,containerID=container_17_3_02_1] is running beyond physical "
            "memory limits. Killing container.\nDump of the process-tree for container_17_3_02_1 :\n",
            "Container [pid=4,containerID=container_17_3_02_1] is running beyond physical memory limits. "
            "Killing container.",
        ),
        (
            "Application application_17_3 failed 2 times due to AM Container for attempt_2 exited with  "
            "exitCode: 1\nFailing this attempt.Diagnostics: [2026-11-26 02:52:35.745]Exception from "
            "container-launch.\nContainer id: container_17_3_02_1\nExit code: 1\n",
            "exit code 1",
        ),
        (
            "Application application_17_3 was killed by user alice at 127.0.0.1\n",
            "Application application_17_3 was killed by user alice at 127.0.0.1",
        ),
        ("Application application_17_3 failed 2 times", "Application application_17_3 failed 2 times"),
    ],
    ids=["memory", "exit code", "killed", "nothing more"],
)
def test_the_reason_is_found_where_java_did_not_fail(report: str, reason: str) -> None:
    told = start_failure("yarn", report).message
    assert about("Spark", "yarn").search(told) and told.endswith(f" {reason}")
