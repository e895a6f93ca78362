"""doctor and verify."""
