"""The report on a table: problems, and files that no version needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Literal

import msgspec

from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root
from paimark.core.table.manifests.held_files import Runs, add, both, meet, members, minus
from paimark.core.verify.needed_files import TableNeeds
from paimark.core.verify.needed_paths import Located, NeededFile
from paimark.core.verify.versions import StoredVersion

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


# The most that a report lists; it counts the others.
_LISTED = 5_000
_NAMED = 5


@dataclass
class Problems:
    """Collects problems of files, if a version that needs them still exists."""

    files: Files
    needs: TableNeeds
    # Paths of snapshots whose files another root's expiry may take, and of those whose files it took.
    may_lose: Collection[str] = ()
    lost_files: set[str] = field(default_factory=set)
    listed: list[Problem] = field(default_factory=list)
    count: int = 0
    lost: int = 0
    _there: dict[str, bool] = field(default_factory=dict)

    def add(self, cause: ProblemCause, path: str, detail: str, users: Runs) -> None:
        """`users` are the states that need the file; empty if it is a version itself."""
        if users and not any(map(self._is_there, self._versions(users))):
            # Its versions expired, or were deleted, after the listing.
            return
        self.count += 1
        self.lost += cause == "lost"
        if len(self.listed) < _LISTED:
            versions = list(self._versions(users))
            names = tuple(each.name for each in versions[:_NAMED])
            self.listed.append(
                Problem(cause=cause, path=path, detail=detail, needed_by=names, needed_by_count=len(versions))
            )

    def add_of(self, cause: ProblemCause, path: str, detail: str, users: Runs) -> None:
        """As `add`, unless only optional states need the file: they may have lost some."""
        required = minus(users, self._optional)
        if required:
            self.add(cause, path, detail, required)

    def add_damaged(self, damaged: Mapping[str, str]) -> None:
        """Add files that can't be read; `damaged` has a sentence by path."""
        for path, sentence in sorted(damaged.items()):
            users = self.needs.uses.users(path)
            if users:
                self.add_of("damaged", path, sentence, users)
            else:
                self.add("damaged", path, sentence, ())

    def add_missing(self, directory: str, needed: Mapping[str, NeededFile]) -> None:
        """Add files that a listing of the directory lacks."""
        for name, each in sorted(needed.items()):
            if not self._took_another_expiry(each.users):
                self.add_of("missing", f"{directory}/{name}", "it is not there", each.users)

    def _took_another_expiry(self, users: Runs) -> bool:
        """Whether only snapshots need the file that another root has expired. It remembers them."""
        if not self.may_lose:
            return False
        taken = list[StoredVersion]()
        for each in self._versions(minus(users, self._optional)):
            if each.path not in self.may_lose:
                return False
            taken.append(each)
        self.lost_files |= {each.path for each in taken if self._is_there(each)}
        return bool(taken)

    def add_missing_schemas(self, located: Located, being_made: Callable[[], Root | None]) -> None:
        """Each root needs the schemas with which its files were written, and those of its snapshots.

        The root that `being_made` names is exempt: it gets its schemas last.
        """
        wanted = dict(_schema_users(self.needs, located))
        roots = [root.schema(number) for root, number in wanted]
        present = zip(wanted, each_of(self.files.exists, roots), strict=True)
        missing = [each for each, exists in present if not exists]
        unfinished = being_made() if missing else None
        for root, number in missing:
            # Check again: it may have been finished since.
            if root != unfinished and not self.files.exists(root.schema(number)):
                detail = f"{root.label} has files by schema {number}, and lacks that"
                self.add("missing", root.schema(number), detail, wanted[root, number])

    @cached_property
    def _optional(self) -> Runs:
        return self.needs.optional

    def _versions(self, states: Runs) -> Iterator[StoredVersion]:
        """Lazily: many versions may need each of a million files, and most of them are not named."""
        return (each for state in members(states) for each in self.needs.states[state].versions)

    def _is_there(self, version: StoredVersion) -> bool:
        if version.path not in self._there:
            self._there[version.path] = self.files.exists(version.path)
        return self._there[version.path]


def _schema_users(needs: TableNeeds, located: Located) -> Iterator[tuple[tuple[Root, int], Runs]]:
    """The states of each root that need one of its schemas, by schema."""
    held: dict[Root, list[int]] = {}
    own: dict[tuple[Root, int], list[int]] = {}
    for number, state in enumerate(needs.states):
        for version in state.versions:
            add(held.setdefault(version.schemas, []), number)
            add(own.setdefault((version.schemas, version.schema_id), []), number)
    yield from own.items()
    for (root, states), (schema_id, users) in product(held.items(), located.schemas.items()):
        if (root, schema_id) not in own and meet(states, users):
            yield (root, schema_id), both(states, users)
