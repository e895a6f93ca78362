"""Rows of a result as files and as JSON, for the command and the console.

Begin with `result_file`.
"""

# By a file's ending. `result_file` has a writer for each, and needs Arrow.
FORMATS = (".csv", ".json", ".parquet", ".arrow")
