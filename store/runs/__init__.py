"""Runs, jobs, stages and attempts, and what people read of them."""
