"""Statements that are parsed without Spark."""
