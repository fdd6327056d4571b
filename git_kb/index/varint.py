"""LEB128: seven bits a byte, the lowest first, the high bit set on all but the last."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def encode_varints(numbers: Iterable[int]) -> bytes:
    """Return numbers from 0 up, one after the other."""
    out = bytearray()
    for number in numbers:
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def decode_varints(data: bytes) -> list[int]:
    """Return all numbers in `data`. Raises ValueError when the last one is cut."""
    numbers = []
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("a number is cut short")
    return numbers
