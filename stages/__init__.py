"""What ragq computes: pure functions from values to values. No Celery, SQL, HTTP or clock."""
