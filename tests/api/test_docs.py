"""The documentation of the API against the code."""

import re
from pathlib import Path

from fastapi import FastAPI

from api import problems

API = Path(__file__).parents[2] / "docs" / "api.md"
ROW = re.compile(r"^\| (`[a-z`, -]+`) \| (\d{3}) \|", re.MULTILINE)


def test_every_problem_is_explained_with_its_status() -> None:
    documented = {
        (slug, int(status))
        for slugs, status in ROW.findall(API.read_text().partition("## Problems")[2])
        for slug in re.findall(r"`([a-z-]+)`", slugs)
    }
    kinds = {*problems.KINDS.values(), *problems.STAGE_KINDS.values(), problems.UNAVAILABLE, problems.INVALID}
    assert documented == {(kind.slug, kind.status) for kind in kinds} | {
        (slug, status) for status, slug in problems.PLAIN.items()
    }


def test_every_resource_is_named(app: FastAPI) -> None:
    words = API.read_text()
    assert [path for path in app.openapi()["paths"] if path.split("/{")[0] not in words] == []
