"""How tasks deliver a statement's rows to this process: to a port of ours, or as Spark's own results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.session_settings import DEFAULTS, RESULT_PORT

LOOPBACK = "127.0.0.1"
_OFF = "off"
_TRIES = "spark.port.maxRetries"
_USUAL_TRIES = 16
_LAST_PORT = 65_535
# With one of these, rows must go through Spark, which encrypts them or handles duplicate attempts of a task.
_SPARKS_OWN = (
    "spark.speculation",
    "spark.network.crypto.enabled",
    "spark.authenticate.enableSaslEncryption",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
    "spark.io.encryption.enabled",
)


@dataclass(frozen=True, slots=True)
class ResultPort:
    """`bind` is the address to listen at, `host` the address for tasks to connect to.

    Both may be empty until Spark has chosen its driver's address: see `at`. `ports` are tried in turn; 0 is
    any port. With `is_direct` tasks send their rows to it. Otherwise Spark fetches the rows from tasks, and
    only the driver's Java process, on this machine, sends them.
    """

    bind: str
    host: str
    ports: range
    is_direct: bool = True

    def at(self, host: str) -> ResultPort:
        """The port with the driver's address in place of unset ones."""
        return replace(self, bind=self.bind or host, host=self.host or host)


def result_port(settings: Mapping[str, str], *, is_cluster: bool) -> ResultPort:
    """The port by the settings. Raises `Unavailable` for an invalid one."""
    wanted = settings.get(RESULT_PORT, DEFAULTS[RESULT_PORT]).strip().lower()
    if wanted == _OFF or (is_cluster and _is_on(settings)):
        return ResultPort(LOOPBACK, LOOPBACK, range(1), is_direct=False)
    ports = _ports(wanted, settings)
    if not is_cluster:
        # All tasks run on this machine, even if Spark has another address.
        return ResultPort(LOOPBACK, LOOPBACK, ports)
    host = settings.get("spark.driver.host", "")
    return ResultPort(settings.get("spark.driver.bindAddress", host), host, ports)


def _is_on(settings: Mapping[str, str]) -> bool:
    return any(settings.get(name, "").strip().lower() == "true" for name in _SPARKS_OWN)


def _ports(wanted: str, settings: Mapping[str, str]) -> range:
    tries = settings.get(_TRIES, str(_USUAL_TRIES)).strip()
    if not wanted.isdecimal() or int(wanted) > _LAST_PORT:
        raise Unavailable(f"{RESULT_PORT} is a port or {_OFF}, not {wanted}")
    first = int(wanted)
    if not first:
        return range(1)
    if not tries.isdecimal():
        raise Unavailable(f"{_TRIES} is a number, not {tries}")
    return range(first, min(first + int(tries), _LAST_PORT) + 1)
