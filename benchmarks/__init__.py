"""What ragq costs and how it compares, measured: `python -m benchmarks --help`."""
