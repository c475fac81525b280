"""The frozen values that stages take and give; every stage output is one of them, stored as JSON."""
