"""The data folder of the environment and the .env file."""

import os
from collections.abc import Mapping
from pathlib import Path

from schemas.settings.layers import ENV_FILE, merged


def environment() -> Mapping[str, str]:
    """The environment over the .env file."""
    return merged(os.environ, ENV_FILE)


def data_directory() -> Path:
    """DATA_BASE_DIR, or `data`."""
    return Path(environment().get("DATA_BASE_DIR") or "data")
