"""The command `ragq`. It starts only where Python imports the packages of ragq, and not others of their names."""
