"""Decide by a table's options how a scan is read: natively, by pypaimon, by Paimon's library, or refused.

`RULES` has the options that affect a scan; its test lists the other options of stock Paimon and pypaimon. The
first rule that matches an option counts. Its outcome only applies to values that matter: `scan.mode` =
`latest` doesn't, because every scan does that here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal, NamedTuple

from paimark.core.errors import Refused
from paimark.core.storage.option_values import is_yes
from paimark.core.table.definition.kind_signs import FIELD_DETAILS, MERGE_ENGINES, MERGING, merge_engine
from paimark.core.table.definition.newer import newer_options, of_option

# "any": it changes no scan. "python": Spark's own readers don't support it, but pypaimon does, and Paimon's
# library. "library": only that one does.
OptionOutcome = Literal["any", "python", "library", "refused"]
# The current table; a version, which the statement names; or only the rows of one root.
ReadScope = Literal["table", "version", "root"]
# Functions of aggregation by which pypaimon merges rows as Paimon does.
_FUNCTIONS = (
    *("bool_and", "bool_or", "first_non_null_value", "first_value", "last_non_null_value", "last_value"),
    *("max", "min", "product", "sum"),
)


@dataclass(frozen=True, slots=True)
class Use:
    """How a table is read. `branch` is that of the root, None for the table directory."""

    branch: str | None
    engine: str
    scope: ReadScope = "table"


Matters = Callable[[str, Use], bool]


def _always(value: str, use: Use) -> bool:
    return True


def _if_set(value: str, use: Use) -> bool:
    return bool(value.strip())


def _if_true(value: str, use: Use) -> bool:
    return is_yes(value)


def _if_true_beyond_a_root(value: str, use: Use) -> bool:
    return use.scope != "root" and _if_true(value, use)


def _unless(*values: str) -> Matters:
    return lambda value, use: value.strip().lower() not in values


def _of_another_branch(value: str, use: Use) -> bool:
    return use.scope != "root" and value != (use.branch or "main")


def _by_time_travel(value: str, use: Use) -> bool:
    return use.scope == "table"


def _by_mode(value: str, use: Use) -> bool:
    return use.scope == "table" and value.strip().lower() not in _NEWEST_MODES


@dataclass(frozen=True, slots=True)
class Rule:
    """`option` may contain `*`; `engine` is the merge engine it applies to. `because` and `hint` are for
    refusals.

    """

    option: str
    outcome: OptionOutcome = "any"
    matters: Matters = field(default=_always)
    because: str = ""
    hint: str = ""
    engine: str | None = None


_CHAIN = "chain-table.enabled"
_LINKS = ("scan.fallback-snapshot-branch", "scan.fallback-delta-branch")
_SEVERITY = ("any", "python", "library", "refused")
_NEWEST_MODES = ("default", "latest", "latest-full", "full")
_BRANCHES = "Paimon reads rows of more than one branch by it"
_READ_EACH = "Read the branches one by one: `t$branch_main`, `t$branch_<name>`."
_FETCH = "In Spark Paimon's own library reads it; `paimark jars fetch paimon` brings that."
_ONE_STATE = "stock Paimon then reads another state than the newest"
_NAME_IT = "Name the state in the statement: VERSION AS OF or TIMESTAMP AS OF."
_MERGES = "only Paimon's own library merges rows by it"
_NO_READER = "no reader here merges rows by it"
_STOCK = "Read it with a stock engine."


def _branches(option: str) -> Rule:
    return Rule(option, "library", _of_another_branch, _BRANCHES, f"{_FETCH} {_READ_EACH}")


def _state(option: str, matters: Matters = _by_time_travel) -> Rule:
    return Rule(option, "refused", matters, _ONE_STATE, _NAME_IT)


def _unmerged(option: str, engine: str, matters: Matters = _always) -> Rule:
    return Rule(option, "library", matters, _MERGES, _FETCH, engine)


def _newer(option: str, outcome: OptionOutcome, matters: Matters = _if_set, because: str = "") -> Rule:
    """For one of `newer.txt`: a library without it reads such a table otherwise, without a word."""
    return Rule(option, outcome, matters, because, "Read it with an engine of that version.")


RULES: tuple[Rule, ...] = (
    # Options that decide which rows are read.
    _branches("scan.fallback-branch"),
    _branches("scan.primary-branch"),
    *map(_branches, _LINKS),
    Rule(_CHAIN, "library", _if_true_beyond_a_root, _BRANCHES, f"{_FETCH} {_READ_EACH}"),
    Rule("branch", "refused", _of_another_branch, "stock Spark reads that branch by it", _READ_EACH),
    Rule(
        "query-auth.enabled",
        "refused",
        _if_true,
        "only its catalog knows which rows and columns may be read",
        _STOCK,
    ),
    Rule("type", "refused", _unless("table", "materialized-table"), "only tables of Paimon's files are read"),
    Rule(
        "manifest.format", "refused", _unless("avro"), "only manifests that are Avro files are read", _STOCK
    ),
    _state("scan.mode", _by_mode),
    _state("scan.snapshot-id"),
    _state("scan.tag-name"),
    _state("scan.version"),
    _state("scan.timestamp"),
    _state("scan.timestamp-millis"),
    _state("scan.watermark"),
    _state("scan.creation-time-millis"),
    _state("scan.file-creation-time-millis"),
    _state("incremental-between"),
    _state("incremental-between-timestamp"),
    _state("incremental-to-auto-tag"),
    # A missing or corrupt file is always an error here.
    Rule("scan.ignore-lost-files"),
    Rule("scan.ignore-corrupt-files"),
    # Options of speed, order, and the end of a stream.
    Rule("scan.manifest.parallelism"),
    Rule("scan.max-splits-per-task"),
    Rule("scan.native-plan.enabled"),
    Rule("scan.plan-sort-partition"),
    Rule("scan.bounded.watermark"),
    Rule("scan.*", "refused", _always, "its effect on a scan is not known here", _STOCK),
    # Options that decide how rows of one key are merged.
    Rule(
        "merge-engine",
        "refused",
        _unless(*MERGE_ENGINES),
        f"merge engines are {', '.join(MERGE_ENGINES)}",
        _STOCK,
    ),
    _newer("sequence.snapshot-ordering", "refused", _if_true, _NO_READER),
    _unmerged("*ignore-delete", "partial-update", _if_true),
    _unmerged("partial-update.remove-record-on-delete", "partial-update", _if_true),
    _unmerged("partial-update.remove-record-on-sequence-group", "partial-update"),
    _unmerged("aggregation.remove-record-on-delete", "aggregation", _if_true),
    _unmerged("fields.*.sequence-group", "partial-update"),
    _unmerged("fields.*.sequence-group", "aggregation"),
    _unmerged("fields.*.aggregate-function", "partial-update"),
    _unmerged("fields.*.aggregate-function", "aggregation", _unless(*_FUNCTIONS)),
    _unmerged("fields.default-aggregate-function", "partial-update"),
    _unmerged("fields.default-aggregate-function", "aggregation", _unless(*_FUNCTIONS)),
    _unmerged("fields.*.ignore-retract", "aggregation", _if_true),
    _newer("fields.*.map.storage-layout", "refused", because="no reader here knows that layout"),
    _newer("fields.*.nested-key-null-strategy", "refused", because=_NO_READER),
    _newer("fields.*.nested-sequence-field", "refused", because=_NO_READER),
    Rule("fields.*.ignore-retract", engine="partial-update"),
    *(Rule(f"fields.*.{each}", engine=engine) for engine in MERGING for each in FIELD_DETAILS),
    *(Rule("fields.*", "refused", _always, _NO_READER, _STOCK, engine) for engine in MERGING),
    # Options that decide how rows are stored.
    Rule(
        "pk-clustering-override",
        "library",
        _if_true,
        "keys are in no order in its files, and only Paimon's own library reads such",
        _FETCH,
    ),
    _newer("postpone.merge-on-read", "refused", _if_true, _NO_READER),
    _newer("blob-view-field", "python"),
    _newer("data-evolution.row-sidecar.enabled", "python", _if_true),
    _newer("deletion-vectors.merge-on-read", "python", _if_true),
    _newer("primary-key.nullable", "any", _if_true),
    Rule("data-evolution.enabled", "python", _if_true),
    Rule("data-file.thin-mode", "python", _if_true),
)


class MatchedOption(NamedTuple):
    """An option of a table that affects the scan, and its rule."""

    option: str
    value: str
    rule: Rule


@cache
def rule_of(option: str, engine: str = "deduplicate") -> Rule | None:
    """The first rule that matches, for any value; None for an option that affects no scan."""
    return next(
        (rule for rule in RULES if rule.engine in (None, engine) and fnmatchcase(option, rule.option)), None
    )


def judged(options: Mapping[str, str], use: Use) -> MatchedOption | None:
    """The option that decides how a table with these options is read; None if none does."""
    # Each of a chain's two branches is read alone.
    is_link = use.branch is not None and use.branch in map(options.get, _LINKS)
    decisive = [
        match
        for option, value in options.items()
        if not (is_link and option in (_CHAIN, *_LINKS)) and (match := _match(option, value, use))
    ]
    return max(decisive, key=lambda match: _SEVERITY.index(match.rule.outcome), default=None)


def mattering_newer(options: Mapping[str, str], use: Use) -> Iterator[tuple[str, str]]:
    """The options of a table that matter and that some libraries are too old to know.

    Each is given with its pattern.
    """
    newer = newer_options()
    for option, value in options.items():
        rule = rule_of(option, use.engine)
        if rule is not None and rule.option in newer and rule.matters(value, use):
            yield option, rule.option


def require_obeyed(
    table: str,
    options: Mapping[str, str],
    branch: str | None,
    scope: ReadScope,
    *,
    by_library: bool = False,
) -> None:
    """Raises `Refused` naming an option that affects the scan, and that no reader here supports.

    `by_library`: Paimon's library is one of the readers.
    """
    engine = merge_engine(options)
    match = judged(options, Use(branch, engine, scope))
    refused = ("refused",) if by_library else ("library", "refused")
    if match is not None and match.rule.outcome in refused:
        raise Refused(
            f"{table} has the option {match.option} = {match.value}{of_option(match.option)}: "
            f"{match.rule.because}",
            match.rule.hint,
        )


def _match(option: str, value: str, use: Use) -> MatchedOption | None:
    """Match an option with its rule; None if every reader supports it."""
    rule = rule_of(option, use.engine)
    if rule is None or rule.outcome == "any" or not rule.matters(value, use):
        return None
    return MatchedOption(option, value, rule)
