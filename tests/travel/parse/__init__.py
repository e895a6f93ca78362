"""The words of statements: where they end, their hints, and how they are pointed at."""
