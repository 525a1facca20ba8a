"""Tables as people have them: files of separated values, and pandas frames."""
