"""Structured logs: one JSON object per line on standard error.

Events are sentences with fields. Values from outside are cut to 256 characters; nothing here ever logs a URL
query, a payment header or a secret. Access lines take a faster way: they are rendered by hand and written
in batches, because one of them is written for every request.
"""

import asyncio
import logging
import sys
from typing import Any, TextIO

import msgspec
import structlog

_VALUE_MAX = 256
_FLUSH_S = 0.1
_BUFFER_LINES = 512

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


def configure_logging(stream: TextIO | None = None) -> None:
    """Send our events and the libraries' warnings to one stream, as JSON lines."""
    out = stream or sys.stderr
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _cut_values,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=_dump),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(out),
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(_LibraryFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _cut_values(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {
        key: value[:_VALUE_MAX] if isinstance(value, str) and key != "exc_info" else value
        for key, value in event.items()
    }


def _dump(event: Any, **_options: Any) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


class _LibraryFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _dump(
            {
                "event": record.getMessage()[:_VALUE_MAX],
                "level": record.levelname.lower(),
                "logger": record.name,
                "timestamp": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
                **({"exception": self.formatException(record.exc_info)} if record.exc_info else {}),
            }
        )


class AccessLog:
    """Access lines, written in batches so that a request does not wait for the terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lines: list[str] = []
        self._flush_due = False

    def add(self, moment: str, method: str, route: str, status: int, micros: int, size: int, request_id: str) -> None:
        """Every value is ours (the route is the template, never the path), so none needs escaping."""
        self._lines.append(
            f'{{"event":"request","timestamp":"{moment}","method":"{method}","route":"{route}","status":{status},'
            f'"us":{micros},"bytes":{size},"request_id":"{request_id}"}}\n'
        )
        if len(self._lines) >= _BUFFER_LINES:
            self.flush()
        elif not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_later(_FLUSH_S, self.flush)

    def flush(self) -> None:
        self._flush_due = False
        if self._lines:
            self._stream.write("".join(self._lines))
            self._stream.flush()
            self._lines.clear()
