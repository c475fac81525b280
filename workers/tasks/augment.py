"""Stage `augment`: the prompt with its sources."""

from workers.bindings.queries.augment import augment_of_query
from workers.stage_task import define_stage

define_stage("augment", query=augment_of_query)
