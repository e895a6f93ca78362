"""`paimark doctor` and `verify`."""
