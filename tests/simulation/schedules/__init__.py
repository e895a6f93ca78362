"""The schedules: seeds, crash points, stories, and planted faults."""
