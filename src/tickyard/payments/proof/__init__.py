"""What the chain says about payments."""
