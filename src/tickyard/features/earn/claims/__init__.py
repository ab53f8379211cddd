"""A claim: what is signed, by whom, and where it waits."""
