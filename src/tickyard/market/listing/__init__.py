"""Which tokens there are: the issuer's list, what is pinned of it, and what each contract says of its multiplier."""
