"""Shared by all parsers of files: rows, lines, and problems with file and line."""
