"""What a person does with the service, beside running it."""
