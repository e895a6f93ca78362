"""Manifest lists, manifests and the data files that they name.

Begin with `manifests`; `files` has all that a snapshot needs.
"""
