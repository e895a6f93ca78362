"""How many examples Hypothesis makes up."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def unhurried(examples: int) -> settings:
    """So many examples, however slow the machine is."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=slow)
