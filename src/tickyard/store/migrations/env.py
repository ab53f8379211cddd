"""Alembic's entry: the caller lends an open transaction and commits it."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
