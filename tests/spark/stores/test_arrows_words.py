"""Where Python reads rows: a store that is gone is given up soon, and told in a sentence."""

from __future__ import annotations

import time

import pytest

from paimark.core.spark.datasource.file_io import file_io
from paimark.core.spark.engine.failures import failed
from paimark.core.spark.stores.failures import explain_arrow
from tests.wording import about

KEYS = {"s3.access-key": "a", "s3.secret-key": "b", "s3.region": "us-east-1"}
SAID = "When reading information for key 'w/f' in bucket 'lake': AWS Error {} during HeadObject operation: {}"


def test_a_store_that_does_not_listen_is_given_up_soon() -> None:
    """By pypaimon's own patience after a minute and a half; of one that is silent after ten."""
    opened = file_io("s3://lake/w", {"s3.endpoint": "http://127.0.0.1:1", **KEYS})
    began = time.monotonic()
    with pytest.raises(OSError, match="AWS Error") as told:
        opened.new_input_stream("s3://lake/w/f")
    assert time.monotonic() - began < 30
    assert explain_arrow(str(told.value)) is not None


def test_time_limits_of_the_options_count() -> None:
    limits = {"fs.s3a.connection.timeout": "2000", "s3.connection.establish.timeout": "1000"}
    config = file_io("s3://lake/w", KEYS | limits)._create_s3_retry_config()
    assert (config["request_timeout"], config["connect_timeout"]) == (2, 1)


@pytest.mark.parametrize(
    ("error", "more", "message", "hint"),
    [
        ("NETWORK_CONNECTION", "curlCode: 7", "not answer", "network"),
        ("EXPIRED_TOKEN", "expired", "token expired", "sign again"),
        ("ACCESS_DENIED", "No response body.", "refuses credentials", "credentials"),
        ("SLOW_DOWN", "reduce", "overloaded", "overloaded"),
    ],
)
def test_what_arrows_client_says_is_told(error: str, more: str, message: str, hint: str) -> None:
    told = failed(OSError(SAID.format(error, more)), "", {})
    assert about("s3://lake", *message.split()).search(told.message)
    assert about(*hint.split()).search(told.hint)


def test_other_words_are_left_as_they_are() -> None:
    assert explain_arrow(SAID.format("UNKNOWN", "something")) is None
    assert explain_arrow("No space left on device") is None
