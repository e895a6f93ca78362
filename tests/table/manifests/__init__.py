"""Manifests and the files that they name."""
