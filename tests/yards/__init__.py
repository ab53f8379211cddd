"""What tests of several folders stand on: far ends that lie on request, small services, whole sandboxes."""
