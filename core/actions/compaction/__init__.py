"""Files of a table are merged, and its rows stay the same.

Begin with `compact`.
"""
