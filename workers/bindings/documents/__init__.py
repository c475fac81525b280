"""The stages of a document: from a file to the chunks of a work."""
