"""Main gets the rows of an earlier version as a new commit, or ends at an earlier snapshot.

Begin with `rollback`; `truncate` is `--truncate`, and `truncation` has its steps.
"""
