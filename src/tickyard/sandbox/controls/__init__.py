"""The hands on a running world."""
