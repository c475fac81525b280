"""The JSON of requests and replies, one file per resource."""
