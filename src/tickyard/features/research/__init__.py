"""Research: choosing facts out of filings, and keeping the filings.

The rules (study, facts, shares, worth, profile, periods) take documents already decoded, and today's date as a value.
"""
