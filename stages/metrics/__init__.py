"""The metrics of a scored run, one formula a function."""
