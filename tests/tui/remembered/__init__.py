"""Tests of what the console remembers from one sitting to the next."""
