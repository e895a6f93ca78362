"""What has to be so at each step, at the end of each action, and at rest."""
