"""The stages of a corpus job: a batch of chunks, embedded and then found."""
