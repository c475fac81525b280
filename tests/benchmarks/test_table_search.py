"""Questions that are made from tables and figures."""

from benchmarks.retrieval_sets import Document
from benchmarks.table_search import figure_queries, row_queries

TEXT = """\
| Brewing | | |
|---|---|---|
| tea | minutes | degrees |
| green | 2 | 80 |
| black | 4 | 95 |
| | 5 | 90 |

![A kettle on a stove](kettle.png)

![](pot.png)
"""


def test_a_row_is_asked_for_by_a_column_and_its_first_cell_and_a_figure_by_its_description() -> None:
    documents = [Document("brewing", "Tea", TEXT)]

    assert list(row_queries(documents)) == [("minutes green", "brewing"), ("degrees black", "brewing")]
    assert list(figure_queries(documents)) == [("A kettle on a stove", "brewing")]
