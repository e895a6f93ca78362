"""A Spark that Paimark did not start, with a warehouse as its catalog."""
