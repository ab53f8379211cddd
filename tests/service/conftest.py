"""The application without a server."""

import asyncio

import pytest

from yards.asgi import ask_app


@pytest.fixture
def ask():
    """`ask(app, method, target, headers=, chunks=)` -> Response."""

    def run(*args, **kwargs):
        return asyncio.run(ask_app(*args, **kwargs))

    return run
