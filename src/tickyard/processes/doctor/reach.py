"""Why an address does not answer, for a person: the service itself only counts it, and goes on to the next."""

import asyncio
import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

_PATIENCE_S: Final = 4
_SECURE: Final = frozenset({"https", "wss"})


async def cannot_reach(url: str) -> str | None:
    """What stands between us and who listens there; None when nothing does. Nothing of the address is repeated."""
    parts = urlsplit(url)
    is_secure = parts.scheme in _SECURE
    door = (parts.hostname, parts.port or (443 if is_secure else 80))
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(*door, ssl=is_secure or None)
            writer.close()
    except ssl.SSLCertVerificationError as refused:
        return f"its certificate is refused ({refused.verify_message})"
    except ssl.SSLError:
        return "it does not speak TLS as we do"
    except socket.gaierror:
        return "its name is not known here"
    except ConnectionRefusedError:
        return "nobody listens there"
    except ConnectionError:
        return "it hangs up"
    except OSError:
        return "there is no way to it from here"
    return None
