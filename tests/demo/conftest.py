from collections.abc import Mapping

import pytest

from demo.data_set import data_set_files


@pytest.fixture(scope="session")
def files() -> Mapping[str, bytes]:
    """The demo data set of the default seed."""
    return data_set_files()
