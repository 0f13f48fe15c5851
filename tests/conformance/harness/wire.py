"""Hand-made bytes: crc32c, TFRecord framing, protobuf wire format. Pure python, no dependency."""

import struct

_T = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = (_c >> 1) ^ 0x82F63B78 if _c & 1 else _c >> 1
    _T.append(_c)


def crc32c(b):
    c = 0xFFFFFFFF
    for x in b:
        c = _T[(c ^ x) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


def masked_crc(b):
    c = crc32c(b)
    return (((c >> 15) | (c << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data, bad_len_crc=False, bad_data_crc=False):
    n = struct.pack("<Q", len(data))
    return (
        n
        + struct.pack("<I", masked_crc(n) ^ (1 if bad_len_crc else 0))
        + data
        + struct.pack("<I", masked_crc(data) ^ (1 if bad_data_crc else 0))
    )


def write_records(path, records):
    with open(path, "wb") as f:
        for r in records:
            f.write(record(r))
    return path


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read()


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while True:
        b = n & 0x7F
        n >>= 7
        out.append(b | (0x80 if n else 0))
        if not n:
            return bytes(out)


def tag(field, wt):
    return varint(field << 3 | wt)


def ld(field, payload):
    """length-delimited field"""
    return tag(field, 2) + varint(len(payload)) + payload


def bytes_list(*vals):
    return ld(1, b"".join(ld(1, v) for v in vals))


def float_list(*vals, packed=True):
    if packed:
        return ld(2, ld(1, struct.pack(f"<{len(vals)}f", *vals)) if vals else b"")
    return ld(2, b"".join(tag(1, 5) + struct.pack("<f", v) for v in vals))


def int64_list(*vals, packed=True):
    if packed:
        return ld(3, ld(1, b"".join(varint(v) for v in vals)) if vals else b"")
    return ld(3, b"".join(tag(1, 0) + varint(v) for v in vals))


def entry(key, feature):
    """map<string, Feature> entry inside Features / FeatureLists"""
    if isinstance(key, str):
        key = key.encode()
    return ld(1, ld(1, key) + ld(2, feature))


def example(*entries):
    return ld(1, b"".join(entries))


def feature_list(*features):
    return b"".join(ld(1, f) for f in features)


def sequence_example(context=(), lists=()):
    out = b""
    if context is not None:
        out += ld(1, b"".join(context))
    if lists is not None:
        out += ld(2, b"".join(lists))
    return out


def feat(v):
    """python list -> Feature bytes by type of the first item"""
    if not v:
        return b""
    if isinstance(v[0], bytes):
        return bytes_list(*v)
    if isinstance(v[0], float):
        return float_list(*v)
    return int64_list(*v)


def ex(**kw):
    return example(*[entry(k, feat(v)) for k, v in kw.items()])
