"""Who verifies and settles payments for us, and how far their word goes."""
