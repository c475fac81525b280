"""Stage `generate`: the answer."""

from workers.bindings.queries.generate import generate_of_query
from workers.stage_task import define_stage

define_stage("generate", query=generate_of_query)
