"""Who is next: fair turns, the oldest first, no more than there is room for, and nobody is left out."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from schemas.statuses import Priority
from store.runs.backlog import FlowKind
from store.runs.jobs import PendingChain, PendingStage
from workers.broker import BACKGROUND, FIRST, NORMAL, PRIORITIES
from workers.turns import MOST_AHEAD, Turns, WaitingFlow

STAGES = ("extract", "embed", "validate")
CHAINS = (STAGES, ("embed", "validate"), ("extract", "validate"), ("validate",))

Drawn = list[tuple[Priority, bool, list[tuple[str, ...]]]]

flows = st.lists(
    st.tuples(st.sampled_from(Priority), st.booleans(), st.lists(st.sampled_from(CHAINS), max_size=6)), max_size=6
)
rooms = st.fixed_dictionaries({(stage, priority): st.integers(-2, 8) for stage in STAGES for priority in PRIORITIES})


def flow_of(priority: Priority, jobs: Mapping[int, tuple[str, ...]], kind: str = "query") -> WaitingFlow:
    """A flow, and the queues that its jobs lead through."""
    due = {job_id: [PendingStage(queue, 1, queue) for queue in queues] for job_id, queues in jobs.items()}
    chains = {at: PendingChain(job_id=at, run_id=1, kind=kind, subject="", stages=of) for at, of in due.items()}
    return WaitingFlow(FlowKind(kind, priority), chains)


def endless(priority: Priority, start: int, taken: int, count: int = 64) -> WaitingFlow:
    """The oldest jobs of a flow that never ends, of which some were taken."""
    return flow_of(priority, {start + taken + at: STAGES for at in range(count)})


def open_room(count: int) -> dict[tuple[str, int], int]:
    return {(stage, priority): count for stage in STAGES for priority in PRIORITIES}


@given(flows, rooms)
def test_no_queue_gets_more_than_it_has_room_for_nothing_stays_behind_and_the_oldest_come_first(
    drawn: Drawn, room: dict[tuple[str, int], int]
) -> None:
    # Jobs are numbered through, so that a lower number is older.
    waiting: dict[int, WaitingFlow] = {}
    for place, (priority, is_background, chains) in enumerate(drawn):
        due = {100 * place + at: chain for at, chain in enumerate(chains)}
        waiting[place] = flow_of(priority, due, "index" if is_background else "query")
    stages = {job_id: chain.queues for flow in waiting.values() for job_id, chain in flow.jobs.items()}

    chosen = Turns[int]().choose(waiting, room)

    left = Counter(room)
    for job_id, sent_with in chosen.items():
        for stage in stages[job_id]:
            left[stage, sent_with] -= 1
            assert left[stage, sent_with] >= 0
    turn = {job_id: at for at, job_id in enumerate(chosen)}
    for flow in waiting.values():
        usual = BACKGROUND if flow.is_background else FIRST if flow.of.priority is Priority.INTERACTIVE else NORMAL
        for job_id in flow.jobs:
            assert job_id in turn or min(left[stage, usual] for stage in stages[job_id]) <= 0
        for chain in CHAINS:
            places = [turn.get(job_id, len(turn)) for job_id in flow.jobs if stages[job_id] == chain]
            assert places == sorted(places)


class Endless:
    """Flows that never end, by their places, and what each of them got."""

    def __init__(self, *priorities: Priority) -> None:
        self._priorities = priorities
        self._turns: Turns[int] = Turns()
        self.taken: Counter[int] = Counter()

    def give(self, room: dict[tuple[str, int], int]) -> None:
        waiting = {
            place: endless(priority, 1_000_000 * place, self.taken[place])
            for place, priority in enumerate(self._priorities)
        }
        for job_id in self._turns.choose(waiting, room, is_held=True):
            self.taken[job_id // 1_000_000] += 1


@given(st.lists(st.integers(1, 40), min_size=20, max_size=40))
def test_shares_are_equal_or_by_weight(sizes: list[int]) -> None:
    equal, weighted = Endless(Priority.NORMAL, Priority.NORMAL), Endless(Priority.NORMAL, Priority.BULK)
    for size in sizes:
        for flows in (equal, weighted):
            flows.give(open_room(size) | {("extract", FIRST): 0})

        assert abs(equal.taken[0] - equal.taken[1]) <= 1
    assert sum(equal.taken.values()) == sum(sizes)
    assert abs(weighted.taken[0] - 4 * weighted.taken[1]) <= 5


@given(st.lists(st.sampled_from(Priority), min_size=1, max_size=8), st.integers(1, 12))
def test_a_bulk_run_gets_a_share_whatever_else_waits(others: list[Priority], size: int) -> None:
    flows = Endless(Priority.BULK, *others)
    while not flows.taken[0]:
        flows.give(open_room(size))
        # Everybody else has at most 16 turns for each of it, and interactive work is at most MOST_AHEAD jobs ahead.
        assert sum(flows.taken.values()) <= 16 * len(others) + MOST_AHEAD + 2 * size * len(PRIORITIES)


def test_interactive_work_goes_ahead_of_everything_and_not_for_ever() -> None:
    turns: Turns[str] = Turns()
    room = open_room(1000)
    questions = flow_of(Priority.INTERACTIVE, dict.fromkeys(range(MOST_AHEAD + 5), STAGES))
    batch = flow_of(Priority.NORMAL, {})

    sent = turns.choose({"questions": questions, "batch": batch}, room, is_held=True)

    assert [*sent.values()] == [FIRST] * MOST_AHEAD + [NORMAL] * 5
    # Each job of the others lets more of them pass, and so does a moment without others.
    one = flow_of(Priority.NORMAL, {500: STAGES})
    turns.choose({"batch": one}, room, is_held=True)
    again = turns.choose({"questions": questions}, room, is_held=True)
    assert 0 < [*again.values()].count(FIRST) < MOST_AHEAD
    alone = turns.choose({"questions": questions}, room)
    assert {*alone.values()} == {FIRST}


def test_a_new_run_starts_with_the_others_and_not_before_them() -> None:
    turns: Turns[str] = Turns()
    turns.choose({"old": endless(Priority.NORMAL, 0, 0)}, open_room(40))

    sent = turns.choose(
        {"old": endless(Priority.NORMAL, 0, 40), "new": endless(Priority.NORMAL, 1000, 0)}, open_room(10)
    )

    assert abs(2 * sum(job_id >= 1000 for job_id in sent) - 10) <= 2
