"""Every action beside the stock Java library, which judges the result."""
