"""Experiments: many seeded trials, on one machine or on many, and what they show."""
