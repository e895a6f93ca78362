"""Cache this project's compiled Java classes from one start of Spark to the next."""
