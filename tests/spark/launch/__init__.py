"""Java, Spark's home, settings, clusters."""
