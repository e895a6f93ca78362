"""How data files call columns."""

# Before the name of a column of the primary key, in the copy that files of merged rows have of it.
KEY_PREFIX = "_KEY_"
