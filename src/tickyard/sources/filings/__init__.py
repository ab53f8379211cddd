"""The filings database."""
