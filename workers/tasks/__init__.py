"""One thin Celery task per stage name."""
