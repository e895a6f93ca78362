"""The contents of the tabs, and which record the cursor is on."""
