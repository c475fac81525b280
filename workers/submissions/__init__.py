"""What people ask for, turned into runs: everything is checked before anything is stored."""
