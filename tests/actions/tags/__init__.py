"""Tags: made and deleted."""
