"""What is declared of actions."""
