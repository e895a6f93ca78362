"""Models of stock engines: their reads, writes and deletions, in the real order."""
