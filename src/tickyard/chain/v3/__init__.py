"""The v3 exchange: pools, quotes, swap calldata and exact swap arithmetic."""
