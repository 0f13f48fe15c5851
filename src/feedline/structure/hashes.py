"""String hashes of TensorFlow's lookup tables, so that the same string falls into the same bucket.

    fingerprint64  FarmHash's Fingerprint64: fast and stable
    keyed_hash     SipHash-2-4: resists attacks as long as the key is secret
"""

from __future__ import annotations

from struct import unpack_from

MASK = 0xFFFFFFFFFFFFFFFF
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
SEED = 81


def fingerprint64(text: bytes) -> int:
    """FarmHash's 64-bit fingerprint.

    >>> from feedline.structure.hashes import fingerprint64
    >>> fingerprint64(b"hello") % 1000
    296
    """
    n = len(text)
    if n <= 16:
        return _up_to_16(text, n)
    if n <= 32:
        return _up_to_32(text, n)
    if n <= 64:
        return _up_to_64(text, n)
    return _longer(text, n)


def _fetch(text: bytes, at: int) -> int:
    word: int = unpack_from("<Q", text, at)[0]
    return word


def _rotate(value: int, by: int) -> int:
    value &= MASK
    return (value >> by | value << 64 - by) & MASK


def _mix(value: int) -> int:
    value &= MASK
    return value ^ value >> 47


def _pair(u: int, v: int, mul: int) -> int:
    a = _mix((u ^ v) * mul)
    b = _mix((v ^ a) * mul)
    return b * mul & MASK


def _up_to_16(s: bytes, n: int) -> int:
    mul = K2 + n * 2
    if n >= 8:
        a = _fetch(s, 0) + K2 & MASK
        b = _fetch(s, n - 8)
        return _pair(_rotate(b, 37) * mul + a & MASK, (_rotate(a, 25) + b) * mul & MASK, mul)
    if n >= 4:
        first, last = unpack_from("<I", s)[0], unpack_from("<I", s, n - 4)[0]
        return _pair(n + (first << 3), last, mul)
    if n:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[n - 1] << 2)
        return _mix(y * K2 & MASK ^ z * K0 & MASK) * K2 & MASK
    return K2


def _ends(s: bytes, n: int, by: int, mul: int) -> tuple[int, int, int]:
    """The part shared by hashes of 17 to 64 bytes: the first 16 bytes, times `by`, mixed with the last 16."""
    a, b = _fetch(s, 0) * by & MASK, _fetch(s, 8)
    c, d = _fetch(s, n - 8) * mul & MASK, _fetch(s, n - 16) * K2
    return a, _rotate(a + b, 43) + _rotate(c, 30) + d & MASK, a + _rotate(b + K2, 18) + c & MASK


def _up_to_32(s: bytes, n: int) -> int:
    mul = K2 + n * 2
    _, first, second = _ends(s, n, K1, mul)
    return _pair(first, second, mul)


def _up_to_64(s: bytes, n: int) -> int:
    mul = K2 + n * 2
    a, y, second = _ends(s, n, K2, mul)
    z = _pair(y, second, mul)
    e, f = _fetch(s, 16) * mul & MASK, _fetch(s, 24)
    g, h = (y + _fetch(s, n - 32)) * mul & MASK, (z + _fetch(s, n - 24)) * mul
    return _pair(_rotate(e + f, 43) + _rotate(g, 30) + h & MASK, e + _rotate(f + a, 18) + g & MASK, mul)


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """32 bytes mixed into two words."""
    w, x, y, z = unpack_from("<4Q", s, at)
    a += w
    b = _rotate(b + a + z, 21)
    c = a
    a += x + y
    return a + z & MASK, b + _rotate(a, 44) + c & MASK


def _longer(s: bytes, n: int) -> int:
    x, y = SEED * K2 + _fetch(s, 0) & MASK, SEED * K1 + 113 & MASK
    z = _mix(y * K2 + 113) * K2 & MASK
    v = w = (0, 0)

    def round_of(at: int, mul: int, nine: int) -> None:
        nonlocal x, y, z, v, w
        x = _rotate(x + y + v[0] + _fetch(s, at + 8), 37) * mul & MASK
        y = _rotate(y + v[1] + _fetch(s, at + 48), 42) * mul & MASK
        x ^= w[1] * nine & MASK
        y = y + v[0] * nine + _fetch(s, at + 40) & MASK
        z = _rotate(z + w[0], 33) * mul & MASK
        v = _weak(s, at, v[1] * mul & MASK, x + w[0] & MASK)
        w = _weak(s, at + 32, z + w[1] & MASK, y + _fetch(s, at + 16) & MASK)
        x, z = z, x

    end = (n - 1) // 64 * 64
    for at in range(0, end, 64):
        round_of(at, K1, 1)
    mul = K1 + ((z & 0xFF) << 1)
    w = w[0] + (n - 1 & 63) & MASK, w[1]
    v = v[0] + w[0] & MASK, v[1]
    w = w[0] + v[0] & MASK, w[1]
    round_of(n - 64, mul, 9)
    first = _pair(v[0], w[0], mul) + _mix(y) * K0 + z & MASK
    return _pair(first, _pair(v[1], w[1], mul) + x & MASK, mul)


def keyed_hash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 with a key of two 64-bit numbers.

    >>> from feedline.structure.hashes import keyed_hash
    >>> keyed_hash(b"a", (11, 22)) % (2**31 - 1)
    1316779929
    """
    k0, k1 = key[0] & MASK, key[1] & MASK
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    whole = len(text) // 8 * 8
    last = text[whole:].ljust(7, b"\0") + bytes([len(text) & 0xFF])
    for at in range(0, whole, 8):
        _absorb(v, _fetch(text, at))
    _absorb(v, _fetch(last, 0))
    v[2] ^= 0xFF
    for _ in range(4):
        _sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _absorb(v: list[int], word: int) -> None:
    v[3] ^= word
    _sip_round(v)
    _sip_round(v)
    v[0] ^= word


def _sip_round(v: list[int]) -> None:
    a, b, c, d = v
    a = a + b & MASK
    b = _left(b, 13) ^ a
    a = _left(a, 32)
    c = c + d & MASK
    d = _left(d, 16) ^ c
    a = a + d & MASK
    d = _left(d, 21) ^ a
    c = c + b & MASK
    b = _left(b, 17) ^ c
    c = _left(c, 32)
    v[:] = a, b, c, d


def _left(value: int, by: int) -> int:
    return _rotate(value, 64 - by)
