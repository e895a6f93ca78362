"""The names in a statement that Spark does not know: the current database, and tables in other spellings.

Begin with `hints`.
"""
