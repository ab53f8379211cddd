"""What a call costs and how it may be paid."""
