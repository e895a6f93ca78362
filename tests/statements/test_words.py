"""What the actions say of the command line, in the words of a CALL."""

from __future__ import annotations

import pytest

from core.statements.words import in_call_words


@pytest.mark.parametrize(
    ("said", "expected"),
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
        # None of a CALL's affair.
        ("Start without --read-only; `paimark doctor shop.orders` looks.",) * 2,
    ],
)
def test_options_become_arguments_and_commands_become_calls(said: str, expected: str) -> None:
    assert in_call_words(said) == expected
