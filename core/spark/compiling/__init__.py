"""Compile this project's Java classes in Spark, and cache them from one start of Spark to the next."""
