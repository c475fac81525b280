"""What you browse: the REST API and the pages, over the same submissions and stores as the command line."""
