"""What stock engines read of ours, and we of theirs."""
