"""The names of columns in data files."""

# The prefix of the copy of a primary-key column, in files whose rows are merged by key.
KEY_PREFIX = "_KEY_"
