"""The stages of a tags job."""
