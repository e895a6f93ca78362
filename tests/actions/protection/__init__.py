"""What is protected, and by which actions it would go."""
