"""The programs that Paimark is measured beside, each fetched and started here, in a process of its own."""
