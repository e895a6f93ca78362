"""One shape of change: every exclusive action is a `Change`, and the driver runs and recovers all of them.

Begin with `change.py` (what an action says), then `driver.py` (what happens around it). `journal.py` is the
lock and the steps on disk, `owner.py` who holds it, `operations.py` the log of what was done.
"""
