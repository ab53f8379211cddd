"""The books of an epoch: what anybody may check, and what the desk on the chain holds of them."""
