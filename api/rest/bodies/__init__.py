"""What goes over the wire: bodies that come in and replies that go out, one file per resource."""
