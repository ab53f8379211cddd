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


def _length(size: int, offset: int) -> bytes:
    if size < 56:
        return bytes([offset + size])
    count = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([offset + 55 + len(count)]) + count
