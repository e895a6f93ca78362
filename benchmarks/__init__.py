"""Compare Paimark with peers, in the same run: `make bench`, or one alone: `python -m benchmarks.console`.

Begin with `__main__`. CONTRIBUTING.md defines P1 to P13.
"""
