"""What a scored run comes to: reports, differences and failures, from what was stored."""
