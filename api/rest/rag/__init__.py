"""The questions: each endpoint of the seed, over the queue."""
