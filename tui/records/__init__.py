"""The row under the cursor: what it stands for, what can be done with it, where one has been."""
