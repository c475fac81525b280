import random
from collections import Counter

import pytest

from demo.prevalence import MARGINALS, draw_scores
from schemas.values.phq8 import PHQ8Item


def test_shares_of_an_item_add_up_to_one() -> None:
    assert {item: round(sum(shares), 10) for item, shares in MARGINALS.items()} == dict.fromkeys(PHQ8Item, 1.0)


def test_scores_are_in_the_order_of_the_questionnaire() -> None:
    assert list(draw_scores(random.Random(1))) == list(PHQ8Item)


def test_the_worst_of_three_draws_cubes_the_share_of_zeros() -> None:
    rng = random.Random(1)
    zeros = Counter(item for _ in range(4000) for item, score in draw_scores(rng).items() if score == 0)
    for item, shares in MARGINALS.items():
        assert zeros[item] / 4000 == pytest.approx(shares[0] ** 3, abs=0.03)


def test_items_are_positively_correlated() -> None:
    rng = random.Random(1)
    drawn = [draw_scores(rng) for _ in range(4000)]
    low = [scores[PHQ8Item.DEPRESSED] for scores in drawn if scores[PHQ8Item.NO_INTEREST] == 0]
    high = [scores[PHQ8Item.DEPRESSED] for scores in drawn if scores[PHQ8Item.NO_INTEREST] == 3]
    assert sum(high) / len(high) > sum(low) / len(low) + 1
