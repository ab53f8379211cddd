"""Which number of a filing is all of its revenue."""
