"""Hypothesis without its clock: examples write files, and a busy machine is no fault of theirs."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("files", deadline=None)
settings.load_profile("files")
