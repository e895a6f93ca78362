"""Every action as a command; saved plans."""
