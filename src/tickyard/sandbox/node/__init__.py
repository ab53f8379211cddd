"""An EVM node to develop against."""
