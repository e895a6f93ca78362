"""How a run of the tests goes: which process takes what, and what it cost."""
