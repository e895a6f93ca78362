"""Java classes of ours, compiled, kept from one start of Spark to the next."""
