"""Text of an upstream is a stranger's text: it loses what could disguise or disrupt before we show it."""

import re
from typing import Any, Final

import msgspec

UNREADABLE: Final = (ValueError, OverflowError, msgspec.MsgspecError, RecursionError)
"""What reading a stranger's answer may raise: it is broken, and nothing of ours is."""
_DEPTH_MAX = 6
_UNSEEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, Arabic mark, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, separators, bidi overrides and isolates
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"  # fillers, variation selectors, byte order mark
    "\ud800-\udfff"  # halves of a surrogate pair cannot be encoded again
    "\U000e0000-\U000e0fff"  # tags: invisible copies of ASCII
    "]"
)


def clean(text: str, max_length: int) -> str:
    """The visible part of a text, cut to a length."""
    # Cut before the scan as well: the cost must not follow a hostile length.
    visible = _UNSEEN.sub("", text[: max_length * 4])
    return visible.strip()[:max_length].rstrip()


def clean_tree(value: Any, max_length: int, depth: int = _DEPTH_MAX) -> Any:
    """A decoded JSON value with every text in it cleaned. ValueError for what has no place in one."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return clean(value, max_length)
    if depth == 0 or not isinstance(value, dict | list):
        # Upstreams write decimals as text; a binary fraction here would be a changed contract.
        raise ValueError("an upstream value is nested too deep or of an unexpected type")
    if isinstance(value, list):
        return [clean_tree(item, max_length, depth - 1) for item in value]
    return {clean(str(key), max_length): clean_tree(item, max_length, depth - 1) for key, item in value.items()}
