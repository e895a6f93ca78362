"""The driver, the journal, the log of operations, and `recover`."""
