"""Building the transactions of a swap, unsigned. Whoever signs them trusts us with money."""
