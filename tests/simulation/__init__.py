"""Seeded schedules of our actions beside stock engines, killed at any storage operation, and a judge.

`core.storage` is the only code that touches a table's files, so it is where schedules are made:
`actors.actor_files` hands the turn to one of a few actors at each operation, and lets one die at any. Begin
with `schedules.seeds` (what a seed does), `judging.judge` and `judging.watch` (what must hold), `stock`
(stock Paimon as `docs` and tests against the real library found it). `python -m tests.simulation --seed 7
--store s3` replays one seed and prints its trace.
"""
