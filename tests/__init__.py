"""The tests, in folders as those of the code, and some by what they are about.

Begin with `conftest` (the warehouse that a test gets) and `paimon` (tables written by pypaimon).
CONTRIBUTING.md says how to run them.
"""
