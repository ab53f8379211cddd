"""The schema, step by step.

A new version of the service starts while the previous one still runs, so a step only adds: tables, indexes, columns
that are nullable or have a server default. What is no longer used is dropped one release after the code that used it.
"""
