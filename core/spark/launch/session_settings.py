"""Settings of a session, by SET or at the start: those of Paimon and Paimark are obeyed, or refused.

Changes by SET and RESET outlive an engine's process.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from paimark.core.errors import StatementFailed, Unavailable
from paimark.core.table.names import near_names
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.parse.tokens import iter_tokens, tokenize

SCAN = "spark.paimark.scan"
LOCAL_BYTES = "spark.paimark.merge.localBytes"
KEPT_KEY_BYTES = "spark.paimark.merge.keptKeyBytes"
REUSE = "spark.paimark.reuse"
LOOKUPS = "spark.paimark.lookups"
WARM_UP = "spark.paimark.warmUp"
IDLE_TIMEOUT = "spark.paimark.idle-timeout"
EXECUTORS_TIMEOUT = "spark.paimark.executors-timeout"
RESULT_PORT = "spark.paimark.result.port"

# What holds while a setting is not set.
DEFAULTS: Mapping[str, str] = {
    SCAN: "auto",
    REUSE: "on",
    LOOKUPS: "on",
    WARM_UP: "on",
    # The bytes that keys may take in the engine; if they need more, they are merged piece by piece.
    LOCAL_BYTES: str(256 << 20),
    KEPT_KEY_BYTES: str(256 << 20),
    IDLE_TIMEOUT: "30 min",
    EXECUTORS_TIMEOUT: "60 s",
    # Any port.
    RESULT_PORT: "0",
}

_PREFIX = "spark.paimark."
# Stock Paimon's connector reads options of tables, and the version to read, from settings with this prefix.
_STOCK_PREFIX = "spark.paimon."
_STOCK_HINT = (
    "Name the state in the statement: VERSION AS OF or TIMESTAMP AS OF. Options of a table: ALTER TABLE."
)
_ON_OFF = ("on", "off")
_WORDS = {
    SCAN: ("auto", "library"),
    **dict.fromkeys((REUSE, LOOKUPS, WARM_UP), _ON_OFF),
}
_NUMBERS = (LOCAL_BYTES, KEPT_KEY_BYTES)
_OF_THE_START = (WARM_UP, IDLE_TIMEOUT, EXECUTORS_TIMEOUT, RESULT_PORT)


def sets_session(sql: str) -> bool:
    return any(token.upper in ("SET", "RESET") for token in islice(iter_tokens(sql), 1))


def changes_views(sql: str) -> bool:
    """Whether it may make a temporary view, or drop one."""
    return any(token.upper in ("CREATE", "CACHE", "DROP") for token in islice(iter_tokens(sql), 1))


def resets_all(sql: str) -> bool:
    return [token.upper or token.text for token in tokenize(sql) if token.text != ";"] == ["RESET"]


def setting_asked(statement: Statement) -> str | None:
    """The setting of Paimark whose value a SET without one asks for; None for other statements."""
    tokens = statement.tokens
    if len(tokens) < 2 or tokens[0].upper != "SET":
        return None
    name = statement.sql[tokens[1].start :].rstrip("; \t\r\n").strip("`")
    return name if name in DEFAULTS else None


def check_setting(statement: Statement) -> None:
    """Raises `StatementFailed` for a SET or RESET of a setting that would have no effect.

    Also for a SET without a value: Spark would show such a setting as undefined.
    """
    tokens = statement.tokens
    if len(tokens) < 2 or tokens[0].upper not in ("SET", "RESET"):
        return
    start = tokens[1].start
    text, is_given, value = statement.sql[start:].rstrip("; \t\r\n").partition("=")
    name = text.strip().strip("`")
    value = value.strip().strip("`'\"")
    fault = _fault(name, value if is_given else None)
    if is_given and fault is None and name in _OF_THE_START:
        fault = (
            f"{name} is settled when the engine starts",
            f"Give it there: --spark-conf '{name}={value}'.",
        )
    if fault is not None:
        raise StatementFailed(*fault, start)


def require_obeyed(settings: Mapping[str, str]) -> None:
    """Raises `Unavailable` for a setting at an engine's start that would have no effect."""
    for name, value in settings.items():
        if (fault := _fault(name, value)) is not None:
            raise Unavailable(*fault)


def _fault(name: str, value: str | None) -> tuple[str, str] | None:
    """The reason why a setting would have no effect, and a hint; with the value None by its name only."""
    # Spark's names depend on case, and it accepts any.
    if name.lower().startswith(_STOCK_PREFIX):
        return f"{name} is of stock Paimon's connector, and not obeyed here", _STOCK_HINT
    if not name.lower().startswith(_PREFIX):
        return None
    known = tuple(dict.fromkeys((*_WORDS, *_NUMBERS, *_OF_THE_START)))
    if name not in known:
        return f"There is no setting {name}", near_names(name, known)
    if value is not None and name in _WORDS and value not in _WORDS[name]:
        *others, last = _WORDS[name]
        return f"{name} is {', '.join(others)} or {last}, not {value}", ""
    if value is not None and name in _NUMBERS and not value.isdecimal():
        return f"{name} is a number of bytes, not {value}", ""
    return None


def less_memory(memory: str = "") -> str:
    """How to give Java less than the `memory` that it may use, for a machine that has too little."""
    may_use = f" than the {memory} that it may use" if memory else ""
    return f"--spark-conf spark.driver.memory={_half(memory)} lets Java use less{may_use}."


def _half(memory: str) -> str:
    number, unit = memory[:-1], memory[-1:].lower()
    if not number.isdecimal() or unit not in ("m", "g"):
        return "1g"
    return f"{max(int(number) * (1024 if unit == 'g' else 1) // 2, 512)}m"
