"""/docs, for people."""
