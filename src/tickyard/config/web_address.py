"""An address that somebody typed: whether anything can be asked there at all."""

from urllib.parse import urlsplit


def is_web_address(text: str, *schemes: str) -> bool:
    if not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        # What is no name of a host fails later and elsewhere: in whoever looks the name up.
        (parts.hostname or "").encode("idna")
        return parts.scheme in (schemes or ("http", "https")) and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
