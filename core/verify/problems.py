"""Collect the problems of files that versions need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import Root
from paimark.core.table.manifests.runs import Runs, add, both, meet, members, minus
from paimark.core.verify.located import Located, NeededFile
from paimark.core.verify.needs import TableNeeds
from paimark.core.verify.report import Problem, ProblemCause
from paimark.core.verify.versions import StoredVersion

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
