"""Choosing facts out of filings. Rules only: they take documents already decoded, and today's date as a value."""
