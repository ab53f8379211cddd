"""The key of the payout account, and what it puts its name to."""
