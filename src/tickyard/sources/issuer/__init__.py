"""The issuer's API."""
