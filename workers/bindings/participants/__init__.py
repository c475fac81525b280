"""The stages of a participant job."""
