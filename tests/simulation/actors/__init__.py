"""The actors of a schedule, and the scheduler of turns, time and deaths."""
