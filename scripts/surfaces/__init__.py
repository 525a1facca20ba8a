"""What ``scripts/write_surfaces.py`` writes, by kind of surface."""
