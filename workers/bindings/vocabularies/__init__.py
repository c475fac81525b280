"""The stage of a vocabulary job: its models, built."""
