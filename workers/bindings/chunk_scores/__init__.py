"""The stages of a job that scores a chunk by itself."""
