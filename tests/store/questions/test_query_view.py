"""A question with everything that is current."""

from store.database import Connection
from store.questions.query_runs import query_view
from store.runs import edits
from tests.services.questions.questions import CONTEXT, EMBEDDED, EXPANSION, FOUND, VALIDATED, WHOLE, a_question


async def test_stored_values_are_shown_and_stale_ones_are_not(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)

    view = await query_view(connection, query.id)

    outputs = (view.expansion, view.embedded, view.found, view.retrieved, view.consolidated)
    assert outputs == (EXPANSION, EMBEDDED, FOUND, VALIDATED, CONTEXT)
    assert view.available == len(CONTEXT.groups)

    none_left = CONTEXT.model_copy(update={"groups": ()}).model_dump(mode="json")
    await edits.set_output(connection, query.job_id, "consolidate", none_left)
    view = await query_view(connection, query.id)

    assert view.available == len(VALIDATED.chunks)

    await edits.redo(connection, query.job_id, "validate")
    view = await query_view(connection, query.id)

    assert (view.found, view.retrieved, view.consolidated, view.available) == (FOUND, None, None, 0)
