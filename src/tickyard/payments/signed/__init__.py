"""From a payment header to a payment that somebody signed."""
