"""Google, Azure and OSS: options, and the emulators of the first two."""
