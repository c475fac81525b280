"""The embedded servers, and the supervisor behind `ragq up`."""
