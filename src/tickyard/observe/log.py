"""Structured logs: one JSON object per line on standard error.

Events are sentences with fields. Values from outside are cut to 256 characters; nothing here ever logs a URL
query, a payment header or a secret. Access lines take a faster way: they are rendered by hand and written
in batches, because one of them is written for every request.

The standard library's logging carries it all, so that our events and those of libraries end up in one stream.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

from tickyard.observe.lines import Lines, standard_error

_VALUE_MAX: Final = 256
_FLUSH_S: Final = 0.1
_BUFFER_LINES: Final = 512
_FIELDS: Final = "tickyard_fields"


class EventLog:
    """`log.info("round recorded", slot=5)`: a sentence, and what belongs to it."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def info(self, event: str, **fields: Any) -> None:
        self._logger.info(event, extra={_FIELDS: fields})

    def warning(self, event: str, **fields: Any) -> None:
        self._logger.warning(event, extra={_FIELDS: fields})

    def error(self, event: str, *, cause: BaseException | None = None, **fields: Any) -> None:
        self._logger.error(event, exc_info=cause, extra={_FIELDS: fields})

    def exception(self, event: str, **fields: Any) -> None:
        """An error with the traceback of the exception being handled."""
        self._logger.exception(event, extra={_FIELDS: fields})


log: Final = EventLog(logging.getLogger("tickyard"))


def configure_logging(stream: TextIO | None = None) -> Lines:
    """Send our events and the libraries' warnings to one stream, as JSON lines."""
    lines = Lines(stream) if stream is not None else standard_error()
    handler = _Handing(lines)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("tickyard").setLevel(logging.INFO)
    return lines


class _Handing(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001  a value that cannot be shown must not end what it was said about
            self._lines.lost += 1


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "event": record.getMessage()[:_VALUE_MAX],
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC),
        }
        if record.name != "tickyard":
            line["logger"] = record.name
        fields: dict[str, Any] = getattr(record, _FIELDS, {})
        line |= {key: value[:_VALUE_MAX] if isinstance(value, str) else value for key, value in fields.items()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class AccessLog:
    """Access lines, written in batches so that a request does not wait for the terminal."""

    def __init__(self, to: Lines | None = None) -> None:
        self._to = to or standard_error()
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
            self._to.write("".join(self._lines))
            self._lines.clear()
