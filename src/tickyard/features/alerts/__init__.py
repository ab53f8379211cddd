"""Alerts: a price crosses a threshold, and one webhook is sent. Rules, rows, evaluation, delivery."""
