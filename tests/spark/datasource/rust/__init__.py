"""pypaimon-rust: what it is given to read, and that its rows are those of stock Paimon."""
