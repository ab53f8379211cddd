"""What happens by itself: samples every five minutes, deliveries, and all that is due at a time."""
