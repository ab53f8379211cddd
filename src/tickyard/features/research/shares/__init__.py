"""How many shares there are."""
