"""Who acts in a schedule, and how turns, time and deaths are handed out."""
