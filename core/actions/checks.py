"""Checks that every plan and every apply makes first, and features with which files can't be deleted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from paimark.core.actions.context import NO_AUDIT, Context
from paimark.core.actions.plan import Plan, Refusal, raise_first
from paimark.core.actions.plan_wording import Writer
from paimark.core.errors import READ_ONLY, PaimarkError, Refused, Unavailable, UsageError
from paimark.core.regular_files import is_in_the_way
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import chain_branches, is_on
from paimark.core.table.follow_ups import STORAGE
from paimark.core.table.layout import CHANGELOG_PREFIX, MAIN, Root, TablePath, numbered
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.text import has_halves, whole_number

# `Plan.lasting` of a plan that loses only a name, because something else keeps what has it.
KEPT = "kept"
_AGAIN = "Nothing was written: make a new plan."


def text_argument(arguments: Mapping[str, object], name: str) -> str | None:
    """A text, or None when it was not given. Raises `UsageError`."""
    value = arguments.get(name)
    if isinstance(value, str) and has_halves(value):
        raise UsageError(
            f"{name} is not UTF-8", "Look at the terminal's encoding, or at escapes in the text."
        )
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} is a text, not {value!r}")


def required_text(arguments: Mapping[str, object], name: str) -> str:
    value = text_argument(arguments, name)
    if value is None:
        raise UsageError(f"{name} is missing", f"Give it as --{name}.")
    return value


def integer_argument(arguments: Mapping[str, object], name: str) -> int | None:
    """A whole number, or None when it was not given. Raises `UsageError`."""
    value = arguments.get(name)
    if isinstance(value, str) and (number := whole_number(value)) is not None:
        return number
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise UsageError(f"{name} is a whole number, not {value!r}")


def required_integer(arguments: Mapping[str, object], name: str) -> int:
    value = integer_argument(arguments, name)
    if value is None:
        raise UsageError(f"{name} is missing", f"Give it as --{name}.")
    return value


def read_only_refusals(context: Context) -> list[Refusal]:
    if context.read_only:
        return [Refusal(*READ_ONLY)]
    return []


def require_allowed(context: Context, plan: Plan) -> None:
    """Raise the first refusal of a plan, or `Refused` if the change could not be logged."""
    raise_first([*read_only_refusals(context), *plan.refusals])
    if context.audit_path != NO_AUDIT and is_in_the_way(context.audit_path):
        raise Refused(
            f"The audit log {context.audit_path} is no regular file, so the change could not be written down",
            "Remove what lies there, or point XDG_STATE_HOME elsewhere. Nothing was changed.",
        )


def fingerprint(*parts: str | bytes) -> str:
    """A hash of everything that a plan read: a difference in any part changes it."""
    digest = hashlib.sha256()
    for part in parts:
        # A name from a listing need not be UTF-8.
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def require_unmoved(table: TablePath, plan: Plan, seen_now: str, what: str = "") -> None:
    """Raises `Refused` when the state differs from the one that the plan saw: a branch's, or `what`'s."""
    if seen_now != plan.fingerprint:
        branch = plan.arguments.get("branch") or plan.arguments.get("into") or MAIN
        raise Refused(f"{what or branch} of {table.full_name} moved since the plan was made", _AGAIN)


def require_kept(plan: Plan, what: str, *, is_kept: bool) -> None:
    """Raises `Refused` for a plan with `KEPT` if nothing else keeps any more what goes with `what`."""
    if plan.lasting == KEPT and not is_kept:
        reason = f"{what} is the last now to keep what it loses: others did as well before"
        raise Refused(reason, _AGAIN)


def moved(table: TablePath, was: str, now: str, writer: Writer | None = None) -> Refused:
    """The refusal that names both states. `writer` must rest before main can be another."""
    if was == now:
        now = "there still, with another schema or other files"
    rest = f" {writer.job or writer.engine} writes to main: pause it, and" if writer else ""
    return Refused(
        f"{table.full_name} moved since the plan was made: then {was}, now {now}",
        f"Nothing was changed.{rest} make a new plan." if rest else "Nothing was changed: make a new plan.",
    )


def not_undone(table: TablePath, why: str, failed: PaimarkError) -> Unavailable:
    """The error when a change stopped because of `why`, and its undo failed too."""
    is_same = failed.message == why
    recover = f"run `paimark recover {table.word}`"
    return Unavailable(
        f"{why}. What was begun is half done"
        if is_same
        else f"{why}, and it could not be undone: {failed.message}",
        f"{failed.hint} Then {recover}." if failed.hint else f"When the store answers again, {recover}.",
    )


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
        if is_on(options, option)
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


def link_refusals(options: Mapping[str, str], branch: Root) -> list[Refusal]:
    """Why a branch stays apart from main, which has these options: main is a chain, and shows its rows."""
    full, delta = chain_branches(options)
    if not full or branch.branch not in (full, delta):
        return []
    reason = f"Branch {branch.label} is a part of the chain of {branch.table.full_name} (chain-table.enabled)"
    hint = "Main shows its rows already: rows of main's own would hide the chain's."
    return [Refusal(reason, hint)]


def newest_options(files: Files, root: Root) -> Mapping[str, str]:
    """The options of the newest schema; empty if there is no schema."""
    schema = Lineage(files, root).latest_schema() if files.names(root.schemas) else None
    return schema.options if schema else {}
