"""Main gets other rows through Spark, as one commit.

Begin with `rewrite_main`.
"""
