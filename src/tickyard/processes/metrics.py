"""A process shows its metrics on a port of its own."""

import contextlib

from tickyard.config.settings import Settings, SettingsError
from tickyard.observe.metrics import serve_metrics


def show_metrics(settings: Settings, port: int, stack: contextlib.ExitStack | contextlib.AsyncExitStack) -> None:
    """Until the end of the stack."""
    try:
        server, _thread = serve_metrics(port, settings.metrics_host)
    except OSError as error:
        where = f"{settings.metrics_host}:{port}"
        raise SettingsError(
            f"its metrics cannot be shown on {where} (TICKYARD_METRICS_PORT): {error.strerror}"
        ) from None
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
