"""Since when a table has rows of a condition: the first version that has one, by bisection."""
