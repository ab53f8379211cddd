"""Far ends that behave, and misbehave on request."""
