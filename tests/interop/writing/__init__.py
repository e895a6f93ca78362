"""Stock engines read Paimark's writes."""
