"""Reference counting, and deleting while others make references."""
