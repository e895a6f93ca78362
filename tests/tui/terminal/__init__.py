"""A real terminal: the first frame, keys typed early, bytes sent over a slow line."""
