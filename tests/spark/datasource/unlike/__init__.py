"""Where pypaimon alone would make other rows of the same files than stock Paimon."""
