"""One EVM chain, read only: a JSON-RPC client, many calls in one, and the contracts we speak to."""
