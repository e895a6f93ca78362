"""Branches: created, deleted, rescued; and a thousand of them."""
