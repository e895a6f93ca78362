"""Rows as files: what each format holds, and what is left behind when the writing fails."""
