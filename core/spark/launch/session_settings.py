"""SET and RESET: what they change outlives an engine's process, and a setting of ours is known or refused."""

from __future__ import annotations

from itertools import islice

from core.errors import StatementFailed
from core.table.names import near_names
from core.travel.parse.tokens import iter_tokens, tokenize
from core.travel.parse.uses import Statement

SCAN = "spark.paimark.scan"
LOCAL_BYTES = "spark.paimark.merge.localBytes"
TASK_ROWS = "spark.paimark.merge.taskRows"
KEPT_KEY_BYTES = "spark.paimark.merge.keptKeyBytes"
REUSE = "spark.paimark.reuse"
LOOKUPS = "spark.paimark.lookups"
WARM_UP = "spark.paimark.warmUp"
IDLE_TIMEOUT = "spark.paimark.idle-timeout"
EXECUTORS_TIMEOUT = "spark.paimark.executors-timeout"
RESULT_PORT = "spark.paimark.result.port"

_PREFIX = "spark.paimark."
# The last: the Python source, and in it pypaimon alone.
_ON_OFF = ("on", "off")
_WORDS = {
    SCAN: ("auto", "python", "pypaimon"),
    **dict.fromkeys((REUSE, LOOKUPS, WARM_UP), _ON_OFF),
}
_NUMBERS = {LOCAL_BYTES: "bytes", KEPT_KEY_BYTES: "bytes", TASK_ROWS: "rows"}
_OF_THE_START = (IDLE_TIMEOUT, EXECUTORS_TIMEOUT, RESULT_PORT)


def sets_session(sql: str) -> bool:
    return any(token.upper in ("SET", "RESET") for token in islice(iter_tokens(sql), 1))


def resets_all(sql: str) -> bool:
    return [token.upper or token.text for token in tokenize(sql) if token.text != ";"] == ["RESET"]


def check_setting(statement: Statement) -> None:
    """Raises `StatementFailed` for a SET or RESET of a setting of ours that would do nothing."""
    tokens = statement.tokens
    if len(tokens) < 2 or tokens[0].upper not in ("SET", "RESET"):
        return
    start = tokens[1].start
    text, is_given, value = statement.sql[start:].rstrip("; \t\r\n").partition("=")
    name = text.strip().strip("`")
    if not name.startswith(_PREFIX):
        return
    known = (*_WORDS, *_NUMBERS, *_OF_THE_START)
    # Tests and people may ask for what an engine was started with.
    if name not in known and (is_given or tokens[0].upper == "RESET"):
        raise StatementFailed(f"There is no setting {name}", near_names(name, known), start)
    if not is_given:
        return
    value = value.strip().strip("`'\"")
    if name in _OF_THE_START:
        raise StatementFailed(
            f"{name} is settled when the engine starts",
            f"Give it there: --spark-conf '{name}={value}'.",
            start,
        )
    if name in _WORDS and value not in _WORDS[name]:
        *others, last = _WORDS[name]
        raise StatementFailed(f"{name} is {', '.join(others)} or {last}, not {value}", "", start)
    if name in _NUMBERS and not value.isdecimal():
        raise StatementFailed(f"{name} is a number of {_NUMBERS[name]}, not {value}", "", start)
