"""Find files that nothing needs any more, and delete them.

Begin with `unreferenced`; `sweep` deletes the files that it finds.
"""
