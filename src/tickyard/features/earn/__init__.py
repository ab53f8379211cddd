"""The daily reward program: who holds the service token shares the day's revenue."""
