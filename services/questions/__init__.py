"""Questions to a corpus: submitted, edited, taken a step further, answered."""
