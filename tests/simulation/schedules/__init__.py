"""What is tried: seeds, crash points, stories, and faults planted again."""
