"""Files of separated values as tables of text."""
