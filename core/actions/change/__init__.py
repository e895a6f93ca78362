"""The common form of changes: each exclusive action is a `Change`; the driver runs and recovers it.

Begin with `change.py` (the interface), then `driver.py` (which calls it). `journal.py` has the lock and the
steps on disk, `owner.py` the process that holds it, `fence.py` what stops one that was taken for dead,
`operations.py` the log of finished operations.
"""
