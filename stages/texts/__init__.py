"""What every kind of job does with texts."""
