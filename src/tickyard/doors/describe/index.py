"""The route index at `GET /`."""

from collections.abc import Iterable

from tickyard.doors.describe.discovery import DOCUMENT_PATHS
from tickyard.doors.describe.paths import MCP_PATH
from tickyard.doors.http.web_app import APP_PATH
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import Answer
from tickyard.payments.offer.bazaar import paid_path

OWN_PAGES = ("/v1/stream", "/openapi.json", "/docs", APP_PATH, *DOCUMENT_PATHS, "/healthz", "/readyz")


class Index(Answer):
    name: str
    description: str
    chain_id: int
    docs: str
    endpoints: list[str]


def endpoint_lines(rows: Iterable[Operation], sandbox_rows: Iterable[Operation], *, has_app: bool = True) -> list[str]:
    """`METHOD /path` of everything, the specified routes first; the web app only where it was built."""
    lines = []
    for row in rows:
        lines.append(f"{row.method} {row.path}")
        if row.price is not None:
            lines.append(f"{row.method} {paid_path(row)}")
    own = [f"GET {path}" for path in OWN_PAGES if has_app or path != APP_PATH]
    return ["GET /", *lines, f"ANY {MCP_PATH}", *own, *(f"{row.method} {row.path}" for row in sandbox_rows)]
