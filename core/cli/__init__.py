"""The `paimark` command: it reads words, writes rows to stdout and all else to stderr, and exits with a code.

Begin with `main`, then `root`, which finds the command of a word. `changes` has the actions, `query` the
commands that run statements, `checks` the doctor and verify.
"""
