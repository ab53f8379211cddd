"""Backups, out and back in."""
