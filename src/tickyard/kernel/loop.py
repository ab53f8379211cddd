"""The event loop of our processes: uvloop's, with one owner for every socket that is handed to it.

uvloop closes the descriptor of a connection that is given up on its way, as a time-out does, and leaves the socket
object that it was handed believing that the descriptor is still its own. Whoever closes that object afterwards,
or lets it go, closes whatever has the number by then: another caller's connection, or one that libuv is about to
watch, upon which it aborts the process. aiohttp and the webhooks' dial both hand over connected sockets.
"""

import socket
from typing import Any

import uvloop


class Loop(uvloop.Loop):
    async def create_connection(self, *asked: Any, sock: socket.socket | None = None, **also: Any) -> Any:
        """As the loop's own. A socket that is handed over is the loop's from here on, whatever comes of it."""
        if sock is None:
            return await super().create_connection(*asked, **also)
        taken = socket.socket(fileno=sock.detach())
        try:
            return await super().create_connection(*asked, sock=taken, **also)
        except BaseException as error:
            if isinstance(error, TypeError | ValueError) and not isinstance(error, OSError):
                # It was asked wrongly, and never began.
                taken.close()
            else:
                # By now the loop has closed it, or will.
                taken.detach()
            raise
