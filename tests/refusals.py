"""Refusals, by their slugs."""

import pytest

from schemas.errors import Refused, Slug


def refused(slug: Slug, match: str | None = None) -> "pytest.RaisesExc[Refused]":
    """As `pytest.raises`, for a refusal of this slug."""
    return pytest.raises(Refused, match=match, check=lambda error: error.slug == slug)


def slug_of(error: BaseException | None) -> str | None:
    """The slug of a refusal; None for any other error."""
    return error.slug if isinstance(error, Refused) else None
