"""Stage `consolidate`: chunks that stand together become one passage."""

from workers.bindings.queries.consolidate import consolidate_of_query
from workers.stage_task import define_stage

define_stage("consolidate", query=consolidate_of_query)
