"""Shapes of the answers in more than one group. Written by `python -m tickyard.clientgen`."""

from tickyard.client.routes import Answer


class ErrorDetail(Answer):
    code: str
    message: str
