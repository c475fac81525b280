"""How long a client prefers to wait."""

import pytest

from api.preferences import Patience, patience_of


@pytest.mark.parametrize(
    ("prefer", "patience"),
    [
        (None, Patience(25.0, None)),
        ([], Patience(25.0, None)),
        (["respond-async"], Patience(0.0, "respond-async")),
        (["Respond-Async"], Patience(0.0, "respond-async")),
        (["wait=5"], Patience(5.0, "wait=5")),
        (["wait=0"], Patience(0.0, "wait=0")),
        (["wait=05"], Patience(5.0, "wait=5")),
        (['wait="5"; strict'], Patience(5.0, "wait=5")),
        (["respond-async, wait=10"], Patience(10.0, "wait=10")),
        (["respond-async", "wait=10"], Patience(10.0, "wait=10")),
        (["wait=10, wait=3"], Patience(10.0, "wait=10")),
        (["wait=600"], Patience(25.0, None)),
        (["respond-async, wait=600"], Patience(25.0, None)),
        (["wait=soon"], Patience(25.0, None)),
        (["wait=-1"], Patience(25.0, None)),
        (["respond-async, wait=soon"], Patience(0.0, "respond-async")),
        (["handling=lenient, return=minimal"], Patience(25.0, None)),
    ],
)
def test_a_client_may_wait_for_less_and_never_for_more(prefer: list[str] | None, patience: Patience) -> None:
    assert patience_of(prefer, longest_s=25.0) == patience
