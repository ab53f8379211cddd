"""Which number of a filing is the owners' part of the profit."""
