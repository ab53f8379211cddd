"""Two amounts held against each other: the same, about the same, or the same digits in another scale."""

from typing import Final

from tickyard.features.research.filed.concepts import Number, size

_THOUSANDS: Final = (10**3, 10**6)
_POWERS: Final = tuple(10**power for power in range(1, 7))


def is_equal(total: Number, value: Number) -> bool:
    """To half a thousandth: filers round each line by itself. Nothing equals nothing only by chance."""
    return value != 0 and size(total - value) * 2000 <= size(value)


def are_close(one: Number, other: Number) -> bool:
    """Whether two amounts could be the same thing, told at different times."""
    return one <= 2 * other and other <= 2 * one


def are_alike(one: Number, other: Number) -> bool:
    """The same of amounts that may be negative."""
    return (one > 0) == (other > 0) and are_close(size(one), size(other))


def slip(one: Number, other: Number, room: int = 2) -> int | None:
    """The factor, a thousand or a million, when two amounts are one written in different scales. Between two times it
    may have grown or shrunk: `room` is how many times."""
    low, high = sorted((size(one), size(other)))
    near = (factor for factor in _THOUSANDS if low * factor <= room * high and high <= room * low * factor)
    return next(near, None) if low > 0 else None


def power_off(value: Number, total: Number) -> int | None:
    """The power of ten by which a number misses what it should be, when its digits are the same; None otherwise."""
    if value == 0 or (value > 0) != (total > 0):
        return None
    low, high = sorted((size(value), size(total)))
    return next((power for power in _POWERS if low and size(high - low * power) * 100 <= high), None)
