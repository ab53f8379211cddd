"""Who is behind a ticker, and what it is worth."""
