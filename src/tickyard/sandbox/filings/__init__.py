"""The stand-in of the filings database."""
