"""A run's snapshot gives back what was frozen."""

import pytest

from schemas.errors import Refused
from schemas.settings.frozen import thaw
from schemas.settings.preset import Preset
from schemas.settings.resolve import resolve


def test_settings_and_preset_are_restored() -> None:
    settings = resolve(profile="demo", environment={})
    preset = Preset().changed({"retrieval.dense_limit": 7}, origin="test")

    frozen = thaw(settings.snapshot() | preset.snapshot("Mine"))

    assert (frozen.run, frozen.preset) == (settings.run, preset)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(Refused, match="EMBEDDING_DANCE"):
        thaw({"EMBEDDING_DANCE": {"value": 1, "source": "default"}})
    with pytest.raises(Refused, match=r"retrieval\.dance"):
        thaw({"retrieval.dance": {"value": 1, "source": "default"}})
