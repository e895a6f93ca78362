"""Features of tables with which files can't be deleted safely. Refusals name them."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.plan import Refusal
from paimark.core.storage.files import Files
from paimark.core.table.follow_ups.options import STORAGE
from paimark.core.table.layout import CHANGELOG_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage, numbered

_HINT = "Delete with the engine that wrote the table."
_UNSAFE = {
    "row-tracking.enabled": "row tracking",
    "data-evolution.enabled": "data evolution",
}
_EXTERNAL = "data-file.external-paths"
_READ_ALONG = (
    "scan.fallback-branch",
    "scan.primary-branch",
    "scan.fallback-snapshot-branch",
    "scan.fallback-delta-branch",
)
_CHANGELOG_LIFE = ("changelog.num-retained.min", "changelog.num-retained.max", "changelog.time-retained")


def feature_refusals(files: Files, root: Root) -> list[Refusal]:
    """Why no file of this table may be deleted."""
    options = newest_options(files, root)
    name = root.table.full_name
    refusals = [
        Refusal(f"{name} uses {feature} ({option}), and its files can't be counted safely", _HINT)
        for option, feature in _UNSAFE.items()
        if options.get(option, "").strip().lower() == "true"
    ]
    if options.get(STORAGE, "").strip().lower() == "rest-catalog":
        refusals.append(
            Refusal(
                f"{name} has Iceberg readers by a REST catalog ({STORAGE}), and what they need can't be seen "
                "from here",
                _HINT,
            )
        )
    if options.get(_EXTERNAL):
        refusals.append(Refusal(f"{name} keeps data files outside the warehouse ({_EXTERNAL})", _HINT))
    return refusals


def changelog_refusals(files: Files, root: Root) -> list[Refusal]:
    """Why no snapshot may expire: its expiry would create a changelog that outlives it."""
    options = newest_options(files, root)
    name = root.table.full_name
    refusals = [
        Refusal(f"{name} keeps changelogs longer than snapshots ({option} is set)", _HINT)
        for option in _CHANGELOG_LIFE
        if option in options
    ]
    if not refusals and numbered(files.names(root.changelogs), CHANGELOG_PREFIX):
        refusals.append(Refusal(f"{root.label} of {name} has changelogs of expired snapshots", _HINT))
    return refusals


def read_along(files: Files, root: Root) -> Mapping[str, str]:
    """The options by which engines read another branch's rows as part of this root, with that branch.

    If the branch is gone, they silently leave out its rows.
    """
    options = newest_options(files, root)
    return {name: options[name] for name in _READ_ALONG if options.get(name, "").strip()}


def newest_options(files: Files, root: Root) -> Mapping[str, str]:
    """The options of the newest schema; empty if there is no schema."""
    schema = Lineage(files, root).latest_schema() if files.names(root.schemas) else None
    return schema.options if schema else {}
