"""The ways in. A door binds, calls and renders, and does nothing else."""
