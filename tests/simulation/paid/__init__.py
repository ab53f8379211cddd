"""Payments over the real code: gate, ledger, worker and client, and everything around them that can go wrong."""
