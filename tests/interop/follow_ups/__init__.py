"""What follows commits and tags of stock Paimon, beside its own library."""
