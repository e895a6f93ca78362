"""The files of roots: guards, links, odd files, leftovers."""
