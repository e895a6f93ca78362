"""The data source `paimark`: options, types, pushed conditions."""
