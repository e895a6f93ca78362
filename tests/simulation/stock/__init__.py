"""Models of stock engines: what they read, write and delete, and in which order."""
