"""A market on a fresh chain."""
