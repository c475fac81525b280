"""The numbers of a scored run, one formula a function."""
