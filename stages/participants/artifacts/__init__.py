"""Reference indexes as files: bytes in, values out, and back. Nothing here touches a disk."""
