"""Tests that kill every action at every write, and that damage metadata.

Begin with `fault_files`, a store on which the writer dies at a chosen write.
"""
