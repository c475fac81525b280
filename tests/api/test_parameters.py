"""How long a client prefers to wait."""

import pytest

from api.parameters import WaitPreference, wait_preference_of


@pytest.mark.parametrize(
    ("prefer", "wait"),
    [
        (None, WaitPreference(None, None)),
        (["Respond-Async"], WaitPreference(0.0, "respond-async")),
        (["wait=0"], WaitPreference(0.0, "wait=0")),
        (['wait="5"; strict'], WaitPreference(5.0, "wait=5")),
        (["respond-async, wait=10"], WaitPreference(10.0, "wait=10")),
        (["wait=10, wait=3"], WaitPreference(10.0, "wait=10")),
        (["wait=600"], WaitPreference(25.0, None)),
        (["wait=soon"], WaitPreference(None, None)),
        (["wait=-1"], WaitPreference(None, None)),
    ],
)
def test_without_a_preference_a_client_waits_until_the_job_is_done(
    prefer: list[str] | None, wait: WaitPreference
) -> None:
    assert wait_preference_of(prefer, longest_s=25.0) == wait
