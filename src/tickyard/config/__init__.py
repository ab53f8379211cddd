"""Settings: read once from the environment and an optional file, validated, frozen."""
