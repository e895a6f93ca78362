"""Let Spark evaluate the time of a time travel: any expression that is constant."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from paimark.core.errors import StatementFailed
from paimark.core.spark.engine.failures import failed
from paimark.core.spark.engine.names.edits import Edit, Edited
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.expressions import CONSTANT_HINT, column_refused
from paimark.core.travel.parse.tokens import Span, Token, tokenize
from paimark.core.travel.times.zones import from_epoch

_BEFORE, _BEHIND = "SELECT CAST((", ") AS TIMESTAMP) AS time"
_ZONED = {("WITH", "LOCAL", "TIME", "ZONE"): "TIMESTAMP_LTZ", ("WITHOUT", "TIME", "ZONE"): "TIMESTAMP_NTZ"}
_UNKNOWN_COLUMN = "UNRESOLVED_COLUMN"


class Constants:
    """Evaluates the times of one session's statements. Spark uses the session's time zone."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def fold(self, sql: str, span: Span, clause: str, *, now_ms: int, zone: tzinfo) -> int:
        """Evaluate `sql[span]` to epoch milliseconds, rounded down. `clause` are the words before it.

        Raises `StatementFailed`, with its position, if it is not a time, is null, or is not constant.
        """
        start, end = span
        text = Edited.of(sql[start:end], _edits(tokenize(sql[start:end]), now_ms, zone))
        asked = f"{_BEFORE}{text.sql}{_BEHIND}"

        def original(position: int) -> int:
            return start + text.original_position(min(max(position - len(_BEFORE), 0), len(text.sql)))

        try:
            frame = self._session.sql(asked)
            if not _is_constant(frame):
                raise SqlRefused(f"The time after {clause} is another each time", CONSTANT_HINT, sql, start)
            micros = frame.selectExpr("unix_micros(time)").collect()[0][0]
        except PySparkException as error:
            failure = failed(error, asked, original, {})
            if (error.getCondition() or "").startswith(_UNKNOWN_COLUMN):
                at = start if failure.position is None else failure.position
                column = (error.getMessageParameters() or {}).get("objectName", "It").replace("`", "")
                raise SqlRefused(*column_refused(clause, column), sql, at) from error
            raise StatementFailed(failure.message, failure.hint, failure.position) from error
        if micros is None:
            raise SqlRefused(f"The time after {clause} is NULL", CONSTANT_HINT, sql, start)
        return int(micros) // 1000


def _is_constant(frame: Any) -> bool:
    expressions = frame._jdf.queryExecution().analyzed().expressions()
    return all(expressions.apply(index).deterministic() for index in range(expressions.size()))


def _edits(tokens: list[Token], now_ms: int, zone: tzinfo) -> list[Edit]:
    """Replace the current time by the statement's, and types with digits by Spark's types without."""
    here = from_epoch(milliseconds=now_ms).astimezone(zone).replace(tzinfo=None)
    present = {
        **dict.fromkeys(("CURRENT_TIMESTAMP", "NOW"), f"timestamp_millis({now_ms}L)"),
        **dict.fromkeys(("CURRENT_DATE", "CURDATE"), f"DATE'{here.date().isoformat()}'"),
        "LOCALTIMESTAMP": f"TIMESTAMP_NTZ'{here.isoformat(' ')}'",
    }
    edits: list[Edit] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        before = tokens[index - 1].text.upper() if index else ""
        behind = _digits_end(tokens, index + 1)
        if token.upper in present and before != ".":
            edits.append(Edit(token.start, tokens[behind - 1].end, present[token.upper]))
            index = behind
            continue
        kind, behind = _type(tokens, token.upper, behind)
        if behind > index + 1 and before in ("AS", "::") and token.upper.startswith("TIMESTAMP"):
            edits.append(Edit(token.start, tokens[behind - 1].end, kind))
            index = behind
        else:
            index += 1
    return edits


def _type(tokens: list[Token], name: str, index: int) -> tuple[str, int]:
    """The name of a type in Spark, and the index after its words."""
    for words, called in _ZONED.items():
        if (
            name == "TIMESTAMP"
            and tuple(token.upper for token in tokens[index : index + len(words)]) == words
        ):
            return called, index + len(words)
    return name, index


def _digits_end(tokens: list[Token], index: int) -> int:
    """The index after `()` or `(3)`, if one of them is here; otherwise `index`."""
    texts = [token.text for token in tokens[index : index + 3]]
    if texts[:2] == ["(", ")"]:
        return index + 2
    has_digits = len(texts) == 3 and (texts[0], texts[2]) == ("(", ")") and texts[1].isdecimal()
    return index + 3 if has_digits else index
