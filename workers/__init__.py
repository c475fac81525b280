"""What runs: the Celery application, the frame around every stage, and what keeps chains alive."""
