"""What we write, as stock engines read it."""
