"""The gate before the paid twins."""
