"""Many seeded trials, in one process, in several, or on a cluster."""
