"""Stage `expand`: other ways to ask a question."""

from workers.bindings.queries.expand import expand_of_query
from workers.stage_task import define_stage

define_stage("expand", query=expand_of_query)
