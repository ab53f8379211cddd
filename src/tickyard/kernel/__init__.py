"""Plain values that every room speaks: amounts, names, time, failures. Standard library and msgspec only."""
