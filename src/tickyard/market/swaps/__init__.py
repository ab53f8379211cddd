"""Pools and what they make of a trade: ticks, fills, quotes, gas."""
