"""What Celery and a tracing system get of an error that is not ragq's own."""


class StageFailed(Exception):
    """Raised in place of a foreign exception that ended a stage: with its type, without its message."""
