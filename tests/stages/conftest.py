"""Metrics and reports are tested on a few participants, whose numbers can be checked by hand."""

import pytest

from stages.metrics import bootstrap


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of two participants and more."""
    monkeypatch.setattr(bootstrap, "LEAST", 2)
