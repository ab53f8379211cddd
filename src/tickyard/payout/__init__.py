"""The payout agent: a process of its own, the only one that can read the payout key."""
