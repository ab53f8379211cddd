"""Shapes of all answers. Written by `python -m tickyard.clientgen`."""
