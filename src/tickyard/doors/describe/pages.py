"""The pages made once, at start: the index, the description, the human docs, and what directories look for."""

from collections.abc import Sequence
from datetime import datetime

from tickyard.config.settings import Settings
from tickyard.doors.describe.discovery import documents
from tickyard.doors.describe.docs.page import render_docs
from tickyard.doors.describe.index import Index, endpoint_lines
from tickyard.doors.describe.openapi import describe
from tickyard.doors.describe.titles import TITLE
from tickyard.kernel.ids import EXAMPLE_WALLET
from tickyard.kernel.operation import Operation
from tickyard.kernel.wire import encode

_DESCRIPTION = "Data and execution preparation for tokenized US stocks on chain 4663. Non-custodial."
_SANDBOX_DESCRIPTION = f"{_DESCRIPTION} This is a sandbox: a local chain, made-up prices, no real money."


def make_pages(
    rows: Sequence[Operation],
    sandbox_rows: Sequence[Operation],
    settings: Settings,
    now: datetime,
    *,
    example_wallet: str = EXAMPLE_WALLET,
    docs_script: str | None = None,
    has_app: bool = True,
) -> dict[str, tuple[str, bytes]]:
    """Content type and bytes by path."""
    description = _SANDBOX_DESCRIPTION if settings.is_sandbox else _DESCRIPTION
    base_url = settings.base_url
    document = describe((*rows, *sandbox_rows), base_url=base_url, description=description)
    index = Index(
        name=TITLE,
        description=description,
        chain_id=settings.chain_id,
        docs=f"{base_url}/docs",
        endpoints=endpoint_lines(rows, sandbox_rows, has_app=has_app),
    )
    found = documents(rows, base_url=base_url, description=description, contact=settings.security_contact, now=now)
    docs = render_docs(document, script=docs_script, is_sandbox=settings.is_sandbox, has_app=has_app)
    pages = {
        "/": ("application/json", encode(index)),
        "/openapi.json": ("application/json", encode(document)),
        "/docs": ("text/html; charset=utf-8", docs),
        **{each.path: (each.content_type, each.body) for each in found},
    }
    wallet, shown = EXAMPLE_WALLET.encode(), example_wallet.encode()
    return {path: (content_type, body.replace(wallet, shown)) for path, (content_type, body) in pages.items()}
