"""Keys of the file of `ragq submit --config`."""

from typing import Final

SETTINGS: Final = "settings"
"""The table of settings and of values of the preset."""
