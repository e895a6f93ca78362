"""Tests of what follows a stock commit or tag."""
