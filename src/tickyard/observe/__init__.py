"""What the operator sees: structured logs and metrics. No secrets, no query strings."""
