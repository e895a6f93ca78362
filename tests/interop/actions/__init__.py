"""Every action beside the stock Java library, which judges what is left."""
