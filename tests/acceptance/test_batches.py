"""`ragq submit --batch`: calls of language models as batches of a provider, whatever dies, at any point."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import GiveEvidence, Install
from tests.acceptance.harness import Installation
from tests.eventually import eventually
from tests.scripted_batches import MODEL, Provider, provider

BATCHED = ("--few-shot-only", "--set", "LLM_BACKEND=openai", "--set", f"MODEL_JUDGE_MODEL={MODEL}")


@pytest.fixture
def batches() -> Iterator[Provider]:
    with provider() as found:
        yield found


@pytest.fixture
def installation(install: Install, indexed_template: str, batches: Provider) -> Iterator[Installation]:
    with install(indexed_template) as installation:
        installation.settings |= {
            "RAGQ_OPENAI_BASE_URL": batches.url,
            "RAGQ_LLM_BATCH_SECONDS": "0.4",
            "RAGQ_LEASE_SECONDS": "1",
        }
        yield installation


def paid(installation: Installation, run: int) -> tuple[int, int]:
    cost = installation.ragq("show", f"r{run}", "--json").json["cost"]["total"]
    return cost["calls_paid"], cost["calls_reused"]


def test_the_calls_of_all_jobs_are_one_batch_and_paid_once_at_half_the_price(
    installation: Installation, batches: Provider, evidence: GiveEvidence
) -> None:
    installation.start_worker()
    work = (*evidence({316: 2, 319: 1}), *BATCHED)
    run = installation.submit(*work, "--batch")
    eventually(lambda: bool(batches.batches))
    shown = installation.ragq("watch", f"r{run}")

    assert shown.exit_code == 0, shown.stderr
    first = next(iter(batches.batches.values()))
    assert len(first.lines) >= 3 and batches.singles == []
    assert set(batches.paid.values()) == {1}
    calls, reused = paid(installation, run)
    assert calls == sum(batches.paid.values()) and reused >= 0
    assert batches.files == {}, "prompts are left at the provider"
    assert installation.value("SELECT count(*) FROM llm_batch_call") == 0
    assert not any(line["body"]["messages"][1]["content"] in installation.logs for line in first.lines)

    prices = installation.folder / "prices.toml"
    prices.write_text(f'currency = "EUR"\n[models."{MODEL}"]\nprompt = 1.0\nreply = 2.0\n')
    planned = installation.ragq("submit", *work, "--new", "--dry-run", "--json", RAGQ_PRICES=str(prices)).json
    assert planned["batch_money"] == pytest.approx(planned["money"] / 2) and planned["money"] > 0


@pytest.mark.parametrize("point", ["after_upload@batch", "after_begin@batch", "after_answer@batch#1"])
def test_no_call_is_paid_twice_when_the_worker_is_killed(
    point: str, installation: Installation, batches: Provider, evidence: GiveEvidence
) -> None:
    alone = installation.start_worker(RAGQ_CRASH_AT=point)
    run = installation.submit(*evidence({316: 2}), *BATCHED, "--batch")
    eventually(lambda: not alone.is_alive)
    installation.start_worker()
    # Who claimed it is not followed for some minutes.
    installation.rows("UPDATE llm_batch SET due_at = now() WHERE due_at IS NOT NULL")

    installation.do("watch", f"r{run}")
    assert set(batches.paid.values()) == {1}
    assert paid(installation, run)[0] == sum(batches.paid.values())


def test_what_waits_is_shown_and_a_batch_that_takes_too_long_is_cancelled_and_its_rest_sent_singly(
    installation: Installation, batches: Provider, evidence: GiveEvidence
) -> None:
    batches.is_held, batches.answers_at_most = True, 1
    installation.start_worker()
    run = installation.submit(*evidence({316: 2}), *BATCHED, "--batch", "1")
    eventually(lambda: "sent since" in installation.ragq("show", f"r{run}").stdout)
    shown = installation.ragq("show", f"r{run}").stdout
    assert f"calls to {MODEL} at {batches.url}" in shown
    assert "answers with a batch" in shown
    assert installation.ragq("show", f"r{run}", "--json").json["batches"][0]["sent_at"]

    installation.rows("UPDATE llm_batch SET sent_at = now() - interval '2 hours'")

    installation.do("watch", f"r{run}")
    first = batches.batches["batch-1"]
    assert first.status == "cancelled" and len(batches.singles) >= len(first.lines) - 1
    assert batches.paid.total() - len(first.lines) + 1 == len(batches.paid)


def test_a_provider_that_is_away_is_asked_again_what_it_refuses_is_not_sent_at_full_price_and_limits_of_calls_hold(
    installation: Installation, batches: Provider, evidence: GiveEvidence
) -> None:
    batches.refuses |= {"POST /files": 503, "POST /batches": 404}
    installation.start_worker()
    run = installation.submit(*evidence({316: 1}), *BATCHED, "--batch")
    eventually(lambda: "answered with status 503" in installation.ragq("show", f"r{run}").stdout)
    installation.rows("UPDATE llm_batch SET due_at = now() WHERE due_at IS NOT NULL")

    assert installation.ragq("watch", f"r{run}").exit_code == 3
    assert batches.singles == []
    (failure,) = installation.ragq("failures", f"r{run}", "--json").json["failures"]
    assert "batch" in failure["message"]
    installation.do("retry", f"r{run}")
    installation.do("watch", f"r{run}")
    assert set(batches.paid.values()) == {1}

    before = batches.paid.total()
    run = installation.submit(*evidence({319: 2, 330: 2}), *BATCHED, "--batch", "--max-llm-calls", "2")
    eventually(lambda: "--max-llm-calls" in installation.ragq("show", f"r{run}").stdout)
    assert batches.paid.total() - before <= 2
    installation.do("resume", f"r{run}", "--max-llm-calls", "1000")
    installation.do("watch", f"r{run}")
    assert set(batches.paid.values()) == {1}
