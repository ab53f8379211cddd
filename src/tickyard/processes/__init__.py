"""What each command runs."""
