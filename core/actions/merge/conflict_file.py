"""Write all conflicts to a file in which a person chooses; streamed, so that any number fits."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from paimark.core.actions.context import Context, Counting, Progress
from paimark.core.actions.merge.conflict_lines import (
    LINES,
    MERGE,
    Choose,
    ConflictFile,
    EndLine,
    Header,
    KeyLine,
    key_text,
)
from paimark.core.actions.merge.resolution import Between, moved, require_same
from paimark.core.actions.merge.sql import AsText, Choices, exactly
from paimark.core.actions.rewrite.spark_rewrite import stream_query
from paimark.core.errors import Refused, Unavailable
from paimark.core.figures import counted
from paimark.core.spark.protocol import Version

_TOLD_EVERY = 10_000

# The choice for a key, by the key and a digest of its rows.
Chosen = Mapping[tuple[bytes, bytes], Choose]


def write_conflicts(
    context: Context,
    between: Between,
    path: str,
    progress: Progress,
    *,
    chosen_in: str | None = None,
    replacing: bool = False,
) -> tuple[int, int]:
    """Write every conflict to a file; return how many there are and are decided.

    Decided are those for which the file `chosen_in` chose, for the same key with the same rows. Raises
    `Refused` if the file exists and is not `replacing`, `NotFound`, `Unavailable`, and the engine's error; no
    file is left then.
    """
    if not replacing and os.path.lexists(path):
        raise _is_there(path)
    chosen = {} if chosen_in is None else _chosen(chosen_in)
    with _new_file(path, replacing=replacing) as out, ExitStack() as ends:
        lines: Iterable[KeyLine] = ()
        if (compared := between.compare()) is not None:
            as_text = exactly(compared[1].decimals)
            lines = ends.enter_context(closing(key_lines(context, between, compared, progress, as_text)))
        return _write(out, between.header, lines, chosen, progress)


def open_conflicts(context: Context, between: Between, path: str, progress: Progress) -> None:
    """Make sure that a file has all conflicts; a current file stays.

    If a side moved since the file was written, it is written again, with its choices for keys whose rows are
    the same. Raises as `write_conflicts`, and `Refused` for a file of something else.
    """
    chosen_in = None
    if os.path.lexists(path):
        header = ConflictFile(path).header
        require_same(between, path, header)
        # The header of a repair does not tell which rows are meant.
        if header.action == MERGE and not moved(between, path, header):
            return
        chosen_in = path
    write_conflicts(context, between, path, progress, chosen_in=chosen_in, replacing=True)


def rewrite_choices(path: str, choices: Sequence[Choose]) -> None:
    """Replace the choices of a file, given in the order of its keys. Raises `Unavailable`."""
    file = ConflictFile(path)
    with _new_file(path, replacing=True) as out:
        out.write(encoded(file.header))
        for choose, (_, line) in zip(choices, file.lines(), strict=True):
            out.write(encoded(msgspec.structs.replace(line, choose=choose)))
        out.write(encoded(EndLine(len(choices))))


@contextmanager
def _new_file(path: str, *, replacing: bool) -> Iterator[BinaryIO]:
    """A file that gets its name when it is complete; after an error no file is left."""
    temporary = Path(path).with_name(f".{Path(path).name}.{uuid.uuid4().hex}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        if not replacing:
            # Of several processes only one creates the file, so the rename replaces its own file.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(temporary, path)
    except FileExistsError as error:
        raise _is_there(path) from error
    except OSError as error:
        raise Unavailable(f"{path} can't be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def encoded(line: Header | KeyLine | EndLine) -> bytes:
    """One line of the file."""
    return msgspec.json.encode(line) + b"\n"


def _write(
    out: BinaryIO, header: Header, lines: Iterable[KeyLine], chosen: Chosen, progress: Progress
) -> tuple[int, int]:
    count = decided = 0
    out.write(encoded(header))
    for line in lines:
        choose = chosen.get((key_text(line, header), _rows(line)), "") if chosen else ""
        line = msgspec.structs.replace(line, choose=choose)
        out.write(encoded(line))
        count, decided = count + 1, decided + (not line.undecided)
        if not count % _TOLD_EVERY:
            progress(Counting(f"{counted(count, 'key')} in conflict so far"))
    out.write(encoded(EndLine(count)))
    return count, decided


def _chosen(path: str) -> Chosen:
    file = ConflictFile(path)
    return {
        (key_text(line, file.header), _rows(line)): line.choose
        for _, line in file.lines()
        if line.choose != ""
    }


def _rows(line: KeyLine) -> bytes:
    """A digest of the rows, independent of how they are written."""
    rows = [msgspec.json.decode(bytes(row) or b"null") for row in (line.base, line.main, line.branch)]
    return hashlib.sha256(msgspec.json.encode(rows, order="sorted")).digest()


def key_lines(
    context: Context,
    between: Between,
    compared: tuple[Mapping[str, Version], Choices],
    progress: Progress,
    as_text: AsText,
    limit: int | None = None,
) -> Generator[KeyLine]:
    """The keys in conflict as they arrive, without choices, in their order; the first `limit` of them."""
    versions, queries = compared
    sql = queries.every_conflict(as_text, limit)
    names, made = [*between.header.columns], LINES[between.header.sides[1]]
    with closing(stream_query(context, between.start, versions, sql, progress, between.texts)) as answers:
        for answer in answers:
            yield _line(made, names, answer)


def _line(made: type[KeyLine], names: list[str], answer: Mapping[str, Any]) -> KeyLine:
    def row(text: str | None) -> dict[str, msgspec.Raw] | None:
        if text is None:
            return None
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return {names[int(place[1:])]: value for place, value in values.items()}

    def raw(text: str | None) -> msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(row(text)))

    key = row(answer["key"])
    assert key is not None
    return made(
        key=key,
        choose="",
        both=tuple(names[place] for place in answer["both"]),
        columns=tuple(names[place] for place in answer["differing"]),
        base=raw(answer.get("base")),
        main=raw(answer.get("main")),
        branch=raw(answer.get("branch")),
    )


def _is_there(path: str) -> Refused:
    return Refused(f"{path} exists and is not written over", "Choose another name.")
