"""One engine, open while a table goes through a history: nothing that it remembers is of another state."""
