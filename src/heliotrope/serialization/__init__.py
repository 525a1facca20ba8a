"""Values to JSON and arrays, and both to files, without pickle."""
