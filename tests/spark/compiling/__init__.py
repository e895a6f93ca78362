"""Compiled classes, kept between starts: never stale, never another user's, never half of them."""
