"""Benchmarks of ragq and of comparable systems: `python -m benchmarks --help`."""
