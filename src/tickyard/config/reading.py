"""Settings from the environment and the optional file, or every reason why not."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tickyard.config.rules import problems_of
from tickyard.config.settings import FACILITATORS, FILE_VARIABLE, PREFIX, URLS, Settings, SettingsError
from tickyard.config.wording import Wrong, read_text, read_value, strangers
from tickyard.kernel.files import read_named

# Read by others than a process of the service: the sandbox, the tests.
_OTHERS = frozenset({FILE_VARIABLE, *(PREFIX + name for name in ("SANDBOX_RPC_URL", "NODE", "PROVE", "SEED"))})


def read_settings(environ: Mapping[str, str], *, is_for_service: bool = True) -> Settings:
    """Settings from the environment and the optional file. Raises SettingsError naming all that is wrong.

    `is_for_service` False: for who works on the store alone. What the service needs beside it may be missing.
    """
    fields = {field.name: field for field in msgspec.structs.fields(Settings)}
    values: dict[str, Any] = {}
    problems: list[str] = []
    if path := environ.get(FILE_VARIABLE):
        written = _read_file(Path(path))
        problems += [_stranger(name, near) for name, near in strangers(written, fields).items()]
        for name in written.keys() & fields.keys():
            try:
                # A list of one may be written as its only part.
                read = read_text if isinstance(written[name], str) else read_value
                values[name] = read(fields[name].type, written[name])
            except Wrong as wrong:
                problems.append(f"{name} {wrong}")
    ours = {name for name in environ if name.startswith(PREFIX) and name == name.upper()} - _OTHERS
    # The names of variables have one spelling: another would be neither used nor missed.
    problems += [
        _stranger(name, name.upper())
        for name in sorted(environ)
        if name.upper().startswith(PREFIX) and name != name.upper()
    ]
    typed = {name.removeprefix(PREFIX).lower() for name in ours}
    problems += [
        _stranger(_variable(name), near and _variable(near)) for name, near in strangers(typed, fields).items()
    ]
    for name, field in fields.items():
        if text := environ.get(_variable(name)):
            try:
                values[name] = read_text(field.type, text)
            except Wrong as wrong:
                problems.append(f"{_variable(name)} {wrong}")
    problems += [
        f"{_variable(name)} must not hold control characters" for name in sorted(values) if _is_unclean(values[name])
    ]
    if problems:
        raise SettingsError("; ".join(problems))
    settings = Settings(**{name: _trimmed(name, value) for name, value in values.items()})
    if not settings.base_url:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        settings = msgspec.structs.replace(settings, base_url=f"http://{host}:{settings.port}")
    if not settings.metrics_port:
        settings = msgspec.structs.replace(settings, metrics_port=(settings.port + 1000) % 65536 or 1)
    if not settings.worker_metrics_port:
        settings = msgspec.structs.replace(settings, worker_metrics_port=(settings.metrics_port + 1) % 65536 or 1)
    if found := problems_of(settings, is_for_service=is_for_service):
        raise SettingsError("; ".join(found))
    return settings


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _stranger(name: str, near: str) -> str:
    return f"{name} is no setting" + (f": did you mean {near}?" if near else "")


def _is_unclean(value: Any) -> bool:
    """Line ends in a header, zero bytes in a path: nothing needs them, and each library has its own word for them."""
    texts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(text, str) and any(ord(each) < 32 or ord(each) == 127 for each in text) for text in texts)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_named(path).decode())
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"the settings file {path}, named by {FILE_VARIABLE}, cannot be read") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path}, named by {FILE_VARIABLE}, is not TOML: {error}") from None


def _trimmed(name: str, value: Any) -> Any:
    """Addresses that paths are put behind end without a slash."""
    if name in URLS:
        return value.rstrip("/")
    return tuple(url.rstrip("/") for url in value) if name in FACILITATORS else value
