"""Tests of `paimark.tui.charts`: what is drawn, what is said of it, and the dialog."""
