"""`verify`: what it finds, and whom it names."""
