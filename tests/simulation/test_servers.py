"""Seeds and crash points on a real S3 server and a real HDFS, through the product's own clients.

Each operation is carried out there and on the model, and both must agree.
"""

from __future__ import annotations

import uuid

import pytest

from tests.simulation.test_seeds import simulated
from tests.storage.stores import BUCKET, S3Server

_MINUTES = "10"
# Points right after the commit, with others at work before the recovery. The point for S3 has few requests,
# because each costs the test's server milliseconds.
_POINTS = {
    "hdfs": "pointer: die after write 18, others commit and main expires",
    "s3": "column: die after write 3, others commit and main expires",
}


@pytest.fixture(params=["s3", "hdfs"])
def server(request: pytest.FixtureRequest) -> list[str]:
    """The arguments that name the server."""
    if request.param == "hdfs":
        return ["--store", "hdfs", "--server", f"{request.getfixturevalue('hdfs')}/{uuid.uuid4().hex}"]
    s3: S3Server = request.getfixturevalue("s3")
    options = [word for name, value in s3.options().items() for word in ("--option", f"{name}={value}")]
    return ["--store", "s3", "--server", f"s3://{BUCKET}/{uuid.uuid4().hex}", *options]


@pytest.mark.long
def test_a_crash_is_recovered_on_a_real_server(server: list[str]) -> None:
    simulated(*server, "--point", _POINTS[server[1]], seconds=280)


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    "what", [["--seeds", "0-100000"], ["--crashes", "--every", "97"]], ids=["seeds", "crashes"]
)
def test_the_promise_holds_on_a_real_server(what: list[str], server: list[str]) -> None:
    simulated(*server, *what, "--minutes", _MINUTES, seconds=1800)
