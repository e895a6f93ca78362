"""The fixtures of the actions' tests: a context on the test's own warehouse."""

from tests.actions.conftest import context, orders

__all__ = ["context", "orders"]
