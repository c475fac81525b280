"""The functions of stages, against the list of chains."""

import inspect
import sys
from typing import get_args, get_origin, get_type_hints

import pytest

from schemas.chains import CHAINS, Stage
from workers.functions import FUNCTIONS
from workers.work import Result

LISTED = {(*chain, stage.name): stage for chain, stages in CHAINS.items() for stage in stages}


def test_every_stage_that_is_listed_has_a_function() -> None:
    assert FUNCTIONS.keys() == LISTED.keys()


@pytest.mark.parametrize(("key", "stage"), LISTED.items())
def test_a_function_stores_what_is_listed(key: tuple[str, str, str], stage: Stage) -> None:
    stored = get_type_hints(FUNCTIONS[key])["return"]
    assert (get_origin(stored), get_args(stored)) == (Result, (stage.output,))


@pytest.mark.parametrize(("key", "stage"), LISTED.items())
def test_a_function_asks_a_language_model_where_that_is_listed(key: tuple[str, str, str], stage: Stage) -> None:
    source = inspect.getsource(sys.modules[FUNCTIONS[key].__module__])
    assert any(chat in source for chat in ("work.chat", "work.resampling_chat")) == stage.asks_llm
