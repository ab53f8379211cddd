"""How Ethereum writes down what it hashes."""

Item = int | bytes | list["Item"]


def rlp(item: Item) -> bytes:
    """Ethereum's serialisation: numbers without leading zeros, lengths in front."""
    if isinstance(item, list):
        body = b"".join(map(rlp, item))
        return _length(len(body), 0xC0) + body
    content = item if isinstance(item, bytes) else item.to_bytes((item.bit_length() + 7) // 8, "big")
    if len(content) == 1 and content[0] < 0x80:
        return content
    return _length(len(content), 0x80) + content


def read_rlp_list(data: bytes) -> list[bytes]:
    """What the items of one list hold; a list among them is told by its bytes. Raises ValueError."""
    body, rest = _take(data)
    if data[0] < 0xC0 or rest:
        raise ValueError("not one list")
    held = []
    while body:
        content, body = _take(body)
        held.append(content)
    return held


def _take(data: bytes) -> tuple[bytes, bytes]:
    """What the first item holds, and what comes after it."""
    if not data:
        raise ValueError("cut off")
    if data[0] < 0x80:
        return data[:1], data[1:]
    size, start = data[0] - (0xC0 if data[0] >= 0xC0 else 0x80), 1
    if size > 55:
        start = size - 54
        size = int.from_bytes(data[1:start], "big")
    if len(data) < start + size:
        raise ValueError("cut off")
    return data[start : start + size], data[start + size :]


def _length(size: int, offset: int) -> bytes:
    if size < 56:
        return bytes([offset + size])
    count = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([offset + 55 + len(count)]) + count
