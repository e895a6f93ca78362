"""A micro-batch that a streaming query writes: `rows.writeStream.format("paimark")`.

    query = (
        rows.writeStream.format("paimark").option("warehouse", uri).option("table", "db.t")
        .option("checkpointLocation", directory).start()
    )

Every micro-batch is one commit, and every row is in the table exactly once, however often the query is killed
and restarted on its checkpoint. Rows of a table with keys are upserts; if a key occurs twice in a batch, a
later row of the same task counts.

Options besides those of `paimark.core.spark.source_writer`: `checkpointLocation`, given here and not
in Spark's settings, because the query's id is read from it, and each batch's event-time watermark, which the
snapshot gets unless the one before has a later one. If this process can't read it: `query-id`, a name that no
other query has; then there is no watermark. Without `branch` each batch goes to the root that is main then.
The output mode is `append`; write aggregates that change with `foreachBatch`. `DefaultSource.java` refuses
others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.errors import Corrupt, PaimarkError, UsageError
from paimark.core.spark.datasource.options import BATCH, RUN, catalog_options
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import read_if_there
from paimark.core.storage.open import open_files
from paimark.core.table.operations import STREAM
from paimark.core.table.records import STREAM_USER

_QUERY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class StreamBatch(msgspec.Struct, frozen=True):
    """The batch `number` of the query with the id `query`; `run` tells this run of the query from others.

    `offsets` is the content of Spark's file about the batch, empty if it is unknown.
    """

    number: int
    query: str
    run: str = ""
    offsets: bytes = b""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self | None:
        """The batch that Java's options name; None if they are of no stream. Raises `UsageError`."""
        if BATCH not in options:
            return None
        number = int(options[BATCH])
        return cls(number, _query_id(options), options.get(RUN, ""), _offsets(options, number))

    def target(self, target: WriteTarget) -> WriteTarget:
        """The target of a batch write as that of this batch."""
        return msgspec.structs.replace(target, commit_user=f"{STREAM_USER}{self.query}", operation=STREAM)


def _offsets(options: Mapping[str, str], batch: int) -> bytes:
    """The offsets file that Spark wrote before the batch, read from the checkpoint."""
    if "query-id" in options:
        return b""
    files = open_files(options["checkpointLocation"], catalog_options(options))
    return read_if_there(files, f"offsets/{batch}") or b""


def _query_id(options: Mapping[str, str]) -> str:
    """The query's id, which restarts do not change. Raises `UsageError`."""
    if (query_id := options.get("query-id")) is not None:
        if not _QUERY.fullmatch(query_id):
            raise UsageError(f"query-id is letters, digits, '.', '_' and '-', not {query_id!r}")
        return query_id
    location = options.get("checkpointLocation")
    if not location:
        raise UsageError(
            "A stream is written once only with a checkpoint of its own: checkpointLocation is missing",
            'Give it here, not in Spark\'s settings: .option("checkpointLocation", directory).',
        )
    try:
        data = open_files(location, catalog_options(options)).read("metadata")
        query_id = msgspec.json.decode(data, type=dict[str, str])["id"]
    except (PaimarkError, msgspec.DecodeError, KeyError) as error:
        raise UsageError(
            f"The query's id can't be read from the checkpoint {location} ({error})",
            "Give the option query-id: a name that no other query has.",
        ) from error
    if not _QUERY.fullmatch(query_id):
        raise Corrupt(f"The checkpoint {location} gives the query the id {query_id!r}")
    return query_id
