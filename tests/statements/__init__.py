"""Statements that are actions: from their text to the action, and its words back to the statement's."""
