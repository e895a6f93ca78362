"""The report on a table: problems, and files that nobody needs."""

from __future__ import annotations

from typing import Literal

import msgspec

# missing: a file that is needed is not there. size: it is not as long as the metadata says. damaged: it can't
# be read, or does not hold what the metadata says. lost: a commit that another one overwrote.
ProblemCause = Literal["missing", "size", "damaged", "lost"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong with a file that is needed. `needed_by` are the first of `needed_by_count` versions."""

    cause: ProblemCause
    path: str
    detail: str
    needed_by: tuple[str, ...] = ()
    needed_by_count: int = 0


class Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A file that no version of the table needs. `owner` says who may have written it, or holds it.

    `age` is milliseconds, None where the store does not tell. `is_young`: too young to say that no running
    writer is about to commit it. `is_leftover`: of a change that was begun, or half-written.
    """

    path: str
    size: int
    age: int | None
    owner: str
    is_young: bool
    is_leftover: bool = False


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """`files` that are needed and their `bytes`, data and metadata; `sampled` data files were read;
    `unread` would have taken too much memory, and nothing is known of what they hold.

    Lists are cut off after some thousands, the counts are not. `lost_count` of the problems are lost commits.
    `unseen` counts needed files outside the warehouse, which nobody looked for. Without `tells_orphans`
    metadata is missing or damaged that would say what else is needed: what seems an orphan may be needed.
    `warnings` tell what may go wrong later, though all is there.
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

    @property
    def is_whole(self) -> bool:
        return not self.problem_count
