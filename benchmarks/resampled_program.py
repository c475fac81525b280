"""Times the intervals of one report, of the checkout that Python imports; run by `resampling` in a process of its own.

Takes {"subjects": [...], "confidence": ...} or {"rows": [[...]]} on stdin, and prints seconds and the peak of memory.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from schemas.values.measures import Measures
from schemas.values.scoring import Subject
from stages.metrics.cohort import cohort_of
from stages.metrics.confidence import variant_named
from stages.metrics.query_means import mean_intervals
from stages.reports.selective_prediction import selective_prediction

given = json.load(sys.stdin)
work: Callable[[], object]
if "rows" in given:
    columns = len(given["rows"][0])
    work = partial(mean_intervals, given["rows"], columns=columns, resamples=10_000, seed=42)
else:
    cohort = cohort_of(Subject.model_validate(one) for one in given["subjects"])
    chosen = Measures(confidence=given["confidence"])
    work = partial(selective_prediction, cohort, variant=variant_named(chosen.confidence), measures=chosen)
began = time.perf_counter()
work()
seconds = time.perf_counter() - began
# That of `getrusage` begins with the memory of the process that started this one.
peak_kb = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]
print(json.dumps({"seconds": seconds, "peak_mb": int(peak_kb) / 1024}))
