"""The client: cancels, deaths, idle ends, and the frames of the protocol."""
