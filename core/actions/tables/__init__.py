"""Actions on a whole table: drop it to the trash, take it out again, rename it, delete it for good.

Begin with `moving`: each is one move of the table's directory, and on an object store a copy, `copying`.
"""
