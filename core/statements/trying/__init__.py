"""`try`: a script on a branch of its own, checked, and published only if all of it is right."""
