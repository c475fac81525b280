"""The stages of a job that indexes a transcript."""
