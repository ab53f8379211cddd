"""What the command line does with a sandbox."""
