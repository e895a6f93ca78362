"""sql, diff, CALL, and what is said while they run."""
