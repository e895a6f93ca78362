"""Simulate Paimark's actions beside stock engines, with crashes at any storage operation, and judge them.

`paimark.core.storage` is the only code that touches a table's files, so schedules are made there:
`actors.actor_files` gives the turn to one of a few actors at each operation, and can let an actor die at any
of them. Begin with `schedules.seeds` (the schedule of a seed), `judging.judge` and `judging.watch` (the
invariants) and `stock` (models of stock Paimon, from its documentation and tests with the real library).
`python -m tests.simulation --seed 7 --store s3` replays one seed and prints its trace.
"""
