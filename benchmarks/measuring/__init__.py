"""What several measurements share: costs and ratios, processes, Java's settings, generated files."""
