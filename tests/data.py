"""The public data that some tests read, if present."""

import os
from pathlib import Path

import pytest


def public_data(name: str) -> Path:
    """A folder of `RAGQ_DATA_DIR`; the test is skipped where it is absent."""
    folder = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / name
    if not folder.exists():
        pytest.skip(f"{folder} is not there; set RAGQ_DATA_DIR")
    return folder
