"""From a paid request to its answer: who asks, what it costs them, and the order of things."""
