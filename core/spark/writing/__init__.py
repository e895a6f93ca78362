"""What a write is for, and the conditions and the publishing of its commit. Begin with `target`."""
