"""Stock engines read Paimark's tables, and Paimark reads theirs."""
