"""The difference of two versions reads only the files in which they differ."""
