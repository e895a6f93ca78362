"""Messages about command-line options, translated to a CALL and to `import paimark`."""

from __future__ import annotations

import pytest

from paimark.core.statements.dialects import IN_PYTHON, IN_SQL


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Give it as --id.", "Give it as id => ...."),
        ("Leave --keep out.", "Leave keep out."),
        ("Roll back without --truncate, or undo.", "Roll back without truncate, or undo."),
        ("Retire the branch with --keep.", "Retire the branch with keep => true."),
        (
            "Say who wins with --on-conflict branch or --on-conflict main.",
            "Say who wins with on_conflict => 'branch' or on_conflict => 'main'.",
        ),
        ("Give --retain-last or --older-than.", "Give retain_last => ... or older_than => ...."),
        (
            "Delete it: paimark delete-savepoint shop.orders --id 2",
            "Delete it: CALL sys.delete_savepoint(table => 'shop.orders', id => 2)",
        ),
        (
            "paimark rollback shop.orders --to snapshot.3",
            "CALL sys.rollback(table => 'shop.orders', to => 'snapshot.3')",
        ),
        ("Run `paimark undo --replacement`.", "Run `CALL sys.undo(replacement => true)`."),
        ("Take it back: paimark undo shop.orders", "Take it back: CALL sys.undo(table => 'shop.orders')"),
        (
            "Run `paimark recover shop.orders --assume committed`, or `--assume not-committed`.",
            "Run `CALL sys.recover(table => 'shop.orders', assume => 'committed')`, or "
            "`assume => 'not-committed'`.",
        ),
        (
            """Set it anew: paimark alter-branch-schema shop.orders --set "'a' = '1 h'" --branch fix.""",
            "Set it anew: CALL sys.alter_branch_schema(table => 'shop.orders', set => '\\'a\\' = \\'1 h\\'', "
            "branch => 'fix').",
        ),
        # None of a CALL's affair.
        ("Start without --read-only; `paimark doctor shop.orders` looks.",) * 2,
    ],
)
def test_options_become_arguments_and_commands_become_calls(message: str, expected: str) -> None:
    assert IN_SQL.translate(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Give it as --id.", "Give it as id=...."),
        ("Retire the branch with --keep.", "Retire the branch with keep=True."),
        ("Say who wins with --on-conflict branch.", "Say who wins with on_conflict='branch'."),
        ("Run `paimark undo --replacement`.", "Run `undo(replacement=True)`."),
        ("Run `paimark recover shop.orders` to go on.", "Run `table('shop.orders').recover()` to go on."),
        ("paimark delete-savepoint a.b --id 2", "table('a.b').delete_savepoint(id=2)"),
        ("`paimark doctor shop.orders` looks.",) * 2,
        ("`paimark check a.b tag.x --check file.sql` shows its rows.",) * 2,
    ],
)
def test_options_become_parameters_and_commands_become_methods(message: str, expected: str) -> None:
    assert IN_PYTHON.translate(message) == expected
