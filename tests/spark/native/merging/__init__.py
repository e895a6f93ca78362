"""Which rows of overlapping files survive, in the engine's process and in tasks."""
