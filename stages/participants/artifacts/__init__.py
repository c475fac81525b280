"""Reference indexes as files: bytes to values, and back, without access to a disk."""
