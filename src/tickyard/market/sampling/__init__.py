"""The prices that are written down: rounds, the newest samples, and which of them are not believed."""
