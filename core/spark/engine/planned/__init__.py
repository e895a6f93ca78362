"""Plan queries in Spark over stand-ins for our tables, and cache plans for repeated queries."""
