"""What it stands on: the embedded servers and the supervisor behind `ragq up`."""
