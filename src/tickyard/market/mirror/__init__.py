"""Every pool that is asked about, held in memory at one block: exact and fresh, or absent."""
