"""What each action is called, takes, does and leaves, as data that imports no action."""
