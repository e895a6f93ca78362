"""Every action killed at every write, and damaged metadata.

Begin with `fault_files`, a store on which the writer dies at a chosen write.
"""
