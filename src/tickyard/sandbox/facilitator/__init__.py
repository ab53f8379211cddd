"""Facilitators that settle for real."""
