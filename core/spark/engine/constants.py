"""Let Spark evaluate the time of a time travel: any expression that is constant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Protocol

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from paimark.core.errors import StatementFailed
from paimark.core.once import once_for_all
from paimark.core.spark.engine.failures import failed
from paimark.core.spark.engine.names.edits import Edit, Edited
from paimark.core.spark.java.objects import new_instance
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.expressions import CONSTANT_HINT, QUERY, column_refused
from paimark.core.travel.parse.tokens import Span, Token, keywords, tokenize
from paimark.core.travel.times.times import OUTSIDE
from paimark.core.travel.times.zones import from_epoch

_UNKNOWN_COLUMN = "UNRESOLVED_COLUMN"
_YEARS_MS = range(-62_135_596_800_000, 253_402_300_800_000)
_FAULTS = {"None": "is NULL", "null": "is NULL", "changes": "is another each time"}
_PRESENT = keywords("CURRENT_TIMESTAMP NOW CURRENT_DATE CURDATE LOCALTIMESTAMP")
_ZONED = {("WITH", "LOCAL", "TIME", "ZONE"): "TIMESTAMP_LTZ", ("WITHOUT", "TIME", "ZONE"): "TIMESTAMP_NTZ"}
_COUNTED = {"0": "timestamp_seconds", "3": "timestamp_millis"}
# Digits after the second: those that cut a time, which has milliseconds here; and as many as there may be.
_CUT, _ENOUGH, _MOST_DIGITS = (0, 1, 2), 3, 9
_DIGITS = "Write CAST(... AS TIMESTAMP(3)), with 0 to 9 digits."


class Evaluator(Protocol):
    """Evaluates an expression, as `Times.java` does. `before` is what it writes before it."""

    before: str

    def micros(self, text: str) -> str: ...


class JavaTimes:
    """Evaluates in the Java of this session."""

    before = ""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def micros(self, text: str) -> str:
        return str(self._java.micros(text))

    @once_for_all
    def _java(self) -> Any:
        return new_instance(self._session, "catalog.Times", self._session._jsparkSession)


class ServerTimes:
    """Evaluates on a server, over Spark Connect."""

    before = "SELECT unix_micros(CAST(("

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def micros(self, text: str) -> str:
        return str(self._session.sql(f"{self.before}{text}) AS TIMESTAMP)) AS time").collect()[0][0])


class Constants:
    """Evaluates the times of one session's statements. Spark uses the session's time zone."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def fold(self, sql: str, span: Span, clause: str, *, now_ms: int, zone: tzinfo) -> int:
        """Evaluate `sql[span]` to epoch milliseconds, rounded down. `clause` are the words before it.

        Raises `StatementFailed`, with its position, if it is not a time, is null, or is not constant.
        """
        start, end = span
        text = Edited.of(sql[start:end], _edits(sql, span, now_ms, zone))

        def original(position: int) -> int:
            position -= len(self._evaluator.before)
            return start + text.original_position(min(max(position, 0), len(text.sql)))

        try:
            told = self._evaluator.micros(text.sql)
        except PySparkException as error:
            failure = failed(error, f"{self._evaluator.before}{text.sql}", original, {})
            if (error.getCondition() or "").startswith(_UNKNOWN_COLUMN):
                at = start if failure.position is None else failure.position
                column = (error.getMessageParameters() or {}).get("objectName", "It").replace("`", "")
                raise SqlRefused(*column_refused(clause, column), sql, at) from error
            raise StatementFailed(failure.message, failure.hint, failure.position) from error
        if told in _FAULTS:
            raise SqlRefused(f"The time after {clause} {_FAULTS[told]}", CONSTANT_HINT, sql, start)
        if told.startswith("query"):
            raise SqlRefused(*QUERY, sql, original(int(told.split()[1])))
        if (time_ms := int(told) // 1000) not in _YEARS_MS:
            raise SqlRefused(*OUTSIDE, sql, start)
        return time_ms


def _edits(sql: str, span: Span, now_ms: int, zone: tzinfo) -> list[Edit]:
    """Replace the present, and what Flink has and Spark has not: digits, `TO_TIMESTAMP_LTZ(n, 3)`.

    Positions are those within the span. Raises `SqlRefused` for digits that can't be obeyed.
    """
    start, end = span
    tokens = tokenize(sql[start:end])
    edits: list[Edit] = []
    # The words before the parentheses around a token.
    calls: list[Token] = []
    for index, token in enumerate(tokens):
        if token.text == "(":
            calls.append(tokens[max(index - 1, 0)])
        elif token.text == ")" and calls:
            edits += _of_flink(calls.pop(), tokens[: index + 1])
        before = tokens[index - 1].text.upper() if index else ""
        is_present = token.upper in _PRESENT and before != "."
        if not is_present and not (before in ("AS", "::") and token.upper.startswith("TIMESTAMP")):
            continue
        digits, behind = _digits(tokens, index + 1)
        if digits > _MOST_DIGITS or (before == "::" and digits in _CUT):
            raise SqlRefused(
                f"{digits} digits after the second can't be had", _DIGITS, sql, start + token.start
            )
        if is_present:
            edits.append(
                Edit(token.start, tokens[behind - 1].end, _present(token.upper, digits, now_ms, zone))
            )
            continue
        kind, behind = _type(tokens, token.upper, behind)
        edits.append(Edit(token.start, tokens[behind - 1].end, kind))
        if digits in _CUT and calls and tokens[behind : behind + 1]:
            step, behind_cast = 10 ** (6 - digits), tokens[behind].end
            edits.append(Edit(calls[-1].start, calls[-1].start, "timestamp_micros(unix_micros(CAST("))
            edits.append(Edit(behind_cast, behind_cast, f" AS TIMESTAMP)) div {step} * {step})"))
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def _present(word: str, digits: int, now_ms: int, zone: tzinfo) -> str:
    if digits in _CUT:
        now_ms -= now_ms % 10 ** (3 - digits)
    here = from_epoch(milliseconds=now_ms).astimezone(zone).replace(tzinfo=None)
    if word in ("CURRENT_TIMESTAMP", "NOW"):
        return f"timestamp_millis({now_ms}L)"
    if word == "LOCALTIMESTAMP":
        return f"TIMESTAMP_NTZ'{here.isoformat(' ')}'"
    return f"DATE'{here.date().isoformat()}'"


def _of_flink(call: Token, tokens: Sequence[Token]) -> list[Edit]:
    """`timestamp_millis(n)` in place of the call `TO_TIMESTAMP_LTZ(n, 3)`, with which the tokens end."""
    *_, comma, digits, end = tokens if len(tokens) > 2 else (call, call, call)
    if call.upper != "TO_TIMESTAMP_LTZ" or comma.text != "," or digits.text not in _COUNTED:
        return []
    return [Edit(call.start, call.end, _COUNTED[digits.text]), Edit(comma.start, end.start, "")]


def _type(tokens: Sequence[Token], name: str, index: int) -> tuple[str, int]:
    """The name of a type in Spark, and the index after its words."""
    for words, called in _ZONED.items():
        if name == "TIMESTAMP" and tuple(each.upper for each in tokens[index : index + len(words)]) == words:
            return called, index + len(words)
    return name, index


def _digits(tokens: Sequence[Token], index: int) -> tuple[int, int]:
    """The number in the parentheses here, and the index after them; enough digits if there is none."""
    texts = [token.text for token in tokens[index : index + 3]]
    if texts[:2] == ["(", ")"]:
        return _ENOUGH, index + 2
    if len(texts) == 3 and (texts[0], texts[2]) == ("(", ")") and texts[1].isdecimal():
        return int(texts[1]), index + 3
    return _ENOUGH, index
