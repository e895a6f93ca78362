"""Write the rows of a result to files and as JSON, for the command and the console.

Begin with `result_file`.
"""

# The suffixes of result files. `result_file` has a writer for each, and needs Arrow.
FORMATS = (".csv", ".json", ".parquet", ".arrow")
