"""JSON in and out, one file per resource."""
