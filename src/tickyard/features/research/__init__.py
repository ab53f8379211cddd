"""Research: choosing facts out of filings, and keeping the filings.

The rules (`study` and the rooms below it) take documents already decoded, and today's date as a value.
"""
