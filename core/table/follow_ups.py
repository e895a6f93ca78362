"""What else follows a stock engine's commit or tag, by the table's options, and does not follow Paimark's.

Whoever is told of it beforehand can let a stock engine commit afterwards, or do it by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from paimark.core.table.definition.kind_signs import is_on

# `rows`: a commit of rows, which Paimon's library writes. `commit`: any other change of what main is.
Event = Literal["commit", "rows", "tag"]
Options = Mapping[str, str]

STORAGE = "metadata.iceberg.storage"
SUCCESS_FILES = "tag.create-success-file"


@dataclass(frozen=True)
class FollowUp:
    """`known_by` are patterns of the names of its options; `sign` is the option in force, empty without one.

    `commit` and `tag` say what Paimark leaves out then, in a sentence without a full stop; empty if nothing.
    `by_library`: nothing is left out where the library commits.
    """

    code: str
    known_by: tuple[str, ...]
    sign: Callable[[Options], str]
    commit: str = ""
    tag: str = ""
    by_library: bool = False

    def said(self, options: Options, event: Event) -> str:
        """What is left out after such an event; empty if nothing is."""
        text = self.tag if event == "tag" else self.commit
        if event == "rows" and self.by_library:
            return ""
        reason = self.sign(options) if text else ""
        return f"{text} ({reason})" if reason else ""


def left_out(options: Options, event: Event) -> Iterator[tuple[str, str]]:
    """Code and sentence of everything that a stock engine would do after its commit or tag, and we do not."""
    for each in FOLLOW_UPS:
        if text := each.said(options, event):
            yield each.code, text


def makes_success_files(options: Options) -> bool:
    """Whether each tag has a file beside it that says that the tag is complete."""
    return is_on(options, SUCCESS_FILES)


def _set(*names: str, off: tuple[str, ...] = ("", "false")) -> Callable[[Options], str]:
    """The first of these options with a value that is none of `off`."""

    def sign(options: Options) -> str:
        values = ((name, options.get(name, "").strip()) for name in names)
        return next((f"{name} = {value}" for name, value in values if value.lower() not in off), "")

    return sign


def _rest_catalog(options: Options) -> str:
    value = options.get(STORAGE, "").strip()
    return f"{STORAGE} = {value}" if value.lower() == "rest-catalog" else ""


FOLLOW_UPS: tuple[FollowUp, ...] = (
    FollowUp(
        "iceberg-behind",
        (r"metadata\.iceberg\..+",),
        _set(STORAGE, off=("", "disabled", "rest-catalog")),
        commit="Iceberg readers see this only after the next commit of a stock engine",
        tag="Iceberg readers see the tags as they were, until the next commit of a stock engine",
        by_library=True,
    ),
    # The library writes the metadata, and its jar has nothing that tells a REST catalog of them.
    FollowUp(
        "iceberg-catalog-behind",
        (),
        _rest_catalog,
        commit="Iceberg readers see this only after the next commit of a stock engine that tells their REST "
        "catalog",
        tag="Iceberg readers see the tags as they were, until the next commit of a stock engine that tells "
        "their REST catalog",
    ),
    FollowUp(
        "commit-callbacks",
        (r"commit\.callbacks", r"commit\.callback\.#\.param"),
        _set("commit.callbacks"),
        commit="no callback is told of it",
        by_library=True,
    ),
    FollowUp(
        "tag-callbacks",
        (r"tag\.callbacks", r"tag\.callback\.#\.param"),
        _set("tag.callbacks"),
        tag="no callback is told of it",
    ),
    FollowUp(
        "partitions-not-done",
        (r"partition\.mark-done-action.*", r"partition\.idle-time-to-done", r"partition\.end-input-to-done"),
        _set("partition.idle-time-to-done", "partition.end-input-to-done", "partition.mark-done-action"),
        commit="no partition is marked as done: a job of Flink does that after its own commits",
    ),
    FollowUp(
        "metastore-behind",
        (r"metastore\.partitioned-table", r"metastore\.tag-to-partition(\.preview)?"),
        _set("metastore.partitioned-table", "metastore.tag-to-partition"),
        commit="the metastore is not told of new partitions",
        tag="the metastore is not told of it",
    ),
)
# Done, or of a tag that is made: these leave nothing to be told.
FOLLOWED = (re.escape(SUCCESS_FILES),)


def is_known(option: str) -> bool:
    """Whether the option is one of those that ask for something after a commit or a tag."""
    patterns = (pattern for each in FOLLOW_UPS for pattern in each.known_by)
    return any(re.fullmatch(pattern, option) for pattern in (*patterns, *FOLLOWED))
