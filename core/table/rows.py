"""One line of the snapshots pane, built to be fast for 100,000 of them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from paimark.core.table.records import AUTHOR, MESSAGE, Long


class Said(msgspec.Struct, frozen=True, gc=False, rename={"message": MESSAGE, "author": AUTHOR}):
    """The note among the properties of a snapshot."""

    message: str | None = None
    author: str | None = None


class SnapshotRow(
    msgspec.Struct,
    frozen=True,
    # It holds only numbers and strings: no cycles are possible, so the garbage collector need not track it.
    gc=False,
    rename={
        "snapshot_id": "id",
        "schema_id": "schemaId",
        "commit_user": "commitUser",
        "commit_identifier": "commitIdentifier",
        "commit_kind": "commitKind",
        "commit_time": "timeMillis",
        "total_record_count": "totalRecordCount",
        "delta_record_count": "deltaRecordCount",
        "changelog_record_count": "changelogRecordCount",
        "watermark": "watermark",
        "said": "properties",
    },
):
    """The columns of `$snapshots` that a list shows, with the same names. `commit_time` is epoch ms."""

    snapshot_id: Long
    schema_id: Long
    commit_user: str
    commit_identifier: Long
    commit_kind: str
    commit_time: Long
    total_record_count: Long | None = None
    delta_record_count: Long | None = None
    changelog_record_count: Long | None = None
    watermark: Long | None = None
    said: Said | None = None


def row_decoder() -> Callable[[bytes], SnapshotRow]:
    """A decoder of snapshot JSON whose rows share their repeated strings. Raises `msgspec.DecodeError`."""
    decode = msgspec.json.Decoder(SnapshotRow).decode
    shared: dict[str, str] = {}
    share = shared.setdefault
    assign = msgspec.structs.force_setattr

    def row(data: bytes) -> SnapshotRow:
        row = decode(data)
        assign(row, "commit_user", share(row.commit_user, row.commit_user))
        assign(row, "commit_kind", share(row.commit_kind, row.commit_kind))
        return row

    return row
