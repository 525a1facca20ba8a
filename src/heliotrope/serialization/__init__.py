"""Serialization of values to JSON and arrays, and of both to files, without pickle."""
