"""Where a statement's rows come in, by Spark's settings and one of ours."""

from __future__ import annotations

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.session_settings import RESULT_PORT
from paimark.core.spark.launch.settings import LOOPBACK, ResultPort, result_port


def test_here_it_is_the_loopback_whatever_the_driver_is_called() -> None:
    named = {
        "spark.driver.host": "10.0.0.1",
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.speculation": "true",
    }
    assert result_port(named, is_cluster=False).at("x") == ResultPort(LOOPBACK, LOOPBACK, range(1))


def test_on_a_cluster_it_is_where_the_driver_listens() -> None:
    assert result_port({}, is_cluster=True).at("edge7") == ResultPort("edge7", "edge7", range(1))
    named = {"spark.driver.host": "edge.example", "spark.driver.bindAddress": "0.0.0.0"}
    assert result_port(named, is_cluster=True).at("edge7") == ResultPort("0.0.0.0", "edge.example", range(1))


@pytest.mark.parametrize(
    ("settings", "first", "count"),
    [
        ({RESULT_PORT: "7100"}, 7100, 17),
        ({RESULT_PORT: "7100", "spark.port.maxRetries": "0"}, 7100, 1),
        ({RESULT_PORT: "65530"}, 65530, 6),
    ],
)
def test_a_port_of_ones_own(settings: dict[str, str], first: int, count: int) -> None:
    ports = result_port(settings, is_cluster=True).ports
    assert (ports[0], len(ports)) == (first, count)


@pytest.mark.parametrize(
    "name", ["spark.speculation", "spark.network.crypto.enabled", "spark.ssl.rpc.enabled"]
)
def test_where_spark_encrypts_or_speculates_rows_go_its_own_way(name: str) -> None:
    assert not result_port({name: "true"}, is_cluster=True).is_direct
    assert result_port({name: "false"}, is_cluster=True).is_direct
    assert not result_port({RESULT_PORT: "off"}, is_cluster=False).is_direct


@pytest.mark.parametrize(
    "settings",
    [{RESULT_PORT: "often"}, {RESULT_PORT: "70000"}, {RESULT_PORT: "7100", "spark.port.maxRetries": "x"}],
)
def test_a_faulty_one_is_named(settings: dict[str, str]) -> None:
    with pytest.raises(Unavailable, match=r"spark\.(paimark\.result\.port|port\.maxRetries) is a"):
        result_port(settings, is_cluster=True)
