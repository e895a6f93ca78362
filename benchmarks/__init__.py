"""Measurements beside peers, in the same run: `make bench`, or one alone as `python -m benchmarks.console`.

Begin with `__main__`. CONTRIBUTING.md says what P1 to P13 are.
"""
