from collections.abc import Sequence

import pytest

from stages.models import refuse_mixture


@pytest.mark.parametrize(
    ("dtype", "made_with"),
    [
        ("float32", []),
        ("float32", ["bfloat16"]),
        ("bfloat16", ["float32", "bfloat16"]),
        ("float16", ["float16"]),
        ("", ["float16"]),
        ("Q4_1", ["float32"]),
    ],
)
def test_formats_that_were_compared_and_unknown_ones_may_be_mixed(dtype: str, made_with: Sequence[str]) -> None:
    refuse_mixture(dtype, made_with, what="The corpus")
