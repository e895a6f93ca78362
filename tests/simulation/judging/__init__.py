"""The invariants at each step, at the end of each action, and at rest."""
