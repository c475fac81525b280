"""Refusals, by their slugs, and failures of stages, by their categories."""

import pytest

from schemas.errors import DomainError, FailureCategory, Refused, Slug


def refused(slug: Slug, match: str | None = None) -> "pytest.RaisesExc[Refused]":
    """As `pytest.raises`, for a refusal of this slug."""
    return pytest.raises(Refused, match=match, check=lambda error: error.slug == slug)


def failing(category: FailureCategory, match: str | None = None) -> "pytest.RaisesExc[DomainError]":
    """As `pytest.raises`, for an error of a stage of this category."""
    return pytest.raises(DomainError, match=match, check=lambda error: error.category is category)


def slug_of(error: BaseException | None) -> str | None:
    """The slug of a refusal; None for any other error."""
    return error.slug if isinstance(error, Refused) else None
