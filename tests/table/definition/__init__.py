"""What a schema says: kinds of tables, options, column types."""
