"""What the state of a table takes over from the state before, so that a commit costs what it changed.

Begin with `live_files`, which carries the files of a table from one snapshot to the next, over manifests that
`decoded_manifests` keeps. What is not certain is made anew.
"""
