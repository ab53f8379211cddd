"""What is written down: every payment, its states, and what people and accountants read of them."""
