"""JSON-RPC over several nodes."""
