"""A process shows its metrics on a port of its own."""

import contextlib

from tickyard.config.settings import Settings, SettingsError
from tickyard.observe.metrics import serve_metrics
from tickyard.observe.watched import watched
from tickyard.store.engine import Store


def show_metrics(settings: Settings, port: int, store: Store, stack: contextlib.AsyncExitStack) -> None:
    """Until the end of the stack."""
    watched.add("tickyard_store_connections", "Connections to the database in use", lambda: store.lent)
    try:
        server, _thread = serve_metrics(port, settings.metrics_host)
    except OSError as error:
        where = f"{settings.metrics_host}:{port}"
        raise SettingsError(
            f"its metrics cannot be shown on {where} (TICKYARD_METRICS_PORT): {error.strerror}"
        ) from None
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
