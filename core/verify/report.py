"""The report on a table: problems, and files that no version needs."""

from __future__ import annotations

from typing import Literal

import msgspec

# missing: a needed file does not exist. size: its length differs from the metadata. damaged: it can't be
# read, or its content differs from the metadata. lost: a commit that another one overwrote.
ProblemCause = Literal["missing", "size", "damaged", "lost"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of a needed file. `needed_by` are the first of `needed_by_count` versions."""

    cause: ProblemCause
    path: str
    detail: str
    needed_by: tuple[str, ...] = ()
    needed_by_count: int = 0


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A file that no version of the table needs. `owner` names who may have written it, or holds it.

    `age` is milliseconds, None if the store has no times. `is_young`: a running writer may still be about to
    commit it. `is_leftover`: it belongs to an unfinished change, or is half-written.
    """

    path: str
    size: int
    age: int | None
    owner: str
    is_young: bool
    is_leftover: bool = False


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """Snapshots `first` to `last` of a branch, which lost files because the branch `expired_by` shared and
    expired them. `heal` is the command that lets them expire here too.
    """

    branch: str
    expired_by: str
    first: int
    last: int
    heal: str

    def __str__(self) -> str:
        one = self.first == self.last
        those = f"Snapshot {self.first}" if one else f"Snapshots {self.first} to {self.last}"
        return (
            f"{those} of {self.branch} can't be read: {self.expired_by} had {'it' if one else 'them'} too, "
            "and a stock expiry there took the files. Nothing later is lost"
        )


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are needed, `bytes` in all, data and metadata. `sampled` data files were read; `unread` ones
    would have taken too much memory, so their content is unknown.

    Lists are cut off after some thousands, the counts are not. `lost_count` of the problems are lost commits.
    `unseen` counts needed files outside the table's own directories, which were not checked. Without
    `tells_orphans`, metadata is missing or damaged that may name more needed files: an orphan may be needed.
    `expired` is no problem: what the expiry of another branch took. `warnings` name what may go wrong later,
    even if no file is missing.
    """

    table: str
    roots: int
    versions: int
    files: int
    bytes: int
    sampled: int
    unread: int
    unseen: int
    problems: tuple[Problem, ...]
    problem_count: int
    lost_count: int
    orphans: tuple[Orphan, ...]
    orphan_count: int
    orphan_bytes: int
    young: tuple[Orphan, ...]
    young_count: int
    leftovers: tuple[Orphan, ...]
    tells_orphans: bool
    warnings: tuple[str, ...] = ()
    expired: tuple[Expired, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not self.problem_count
