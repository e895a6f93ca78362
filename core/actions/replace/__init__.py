"""A branch becomes main, by the main-branch file; or main gets its rows as one commit.

Begin with `replace_main_branch`.
"""
