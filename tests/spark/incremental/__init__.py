"""What a state takes over from the one before: the same as made from nothing, and nothing more is read."""
