"""What the service remembers: the same statements on SQLite and PostgreSQL. Features bring their own tables."""
