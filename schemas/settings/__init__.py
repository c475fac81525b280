"""What can be set: names, ranges and defaults, and how a run's values are chosen and frozen."""
