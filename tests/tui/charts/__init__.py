"""Tests of `tui.charts`: what is drawn, what is said of it, and the dialog."""
