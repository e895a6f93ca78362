"""The `paimark` command: words in, rows on stdout, all else on stderr, an exit code.

Begin with `main`, then `root`, which finds the command of a word. `changes` has the actions, `query` what
runs statements, `checks` the doctor and verify.
"""
