"""What the console remembers from one sitting to the next: where one left off, and how tables are looked at.

Begin with `memory`.
"""
