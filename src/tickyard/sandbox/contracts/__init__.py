"""Contracts of our own in Vyper, and where the bytecode of the public ones comes from."""
