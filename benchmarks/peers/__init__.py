"""The programs with which Paimark is compared. Each is fetched and started here, in its own process."""
