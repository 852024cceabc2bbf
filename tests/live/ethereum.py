"""Signs EIP-1559 transactions with nothing but Python, as a second opinion on what the C++ side signs and reads."""

import hashlib

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)

MASK = 2**64 - 1
ROTATIONS = [[0, 36, 3, 41, 18], [1, 44, 10, 45, 2], [62, 6, 43, 15, 61], [28, 55, 25, 21, 56], [27, 20, 39, 8, 14]]


def round_constants():
    register, constants = 1, []
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << (2**j - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


CONSTANTS = round_constants()


def rotate(word, by):
    return ((word << by) | (word >> (64 - by))) & MASK if by else word


def permute(a):
    for constant in CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[x - 1] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        for x in range(5):
            for y in range(5):
                b[y][(2 * x + 3 * y) % 5] = rotate(a[x][y], ROTATIONS[x][y])
        a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & MASK & b[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
        a[0][0] ^= constant
    return a


def keccak(data):
    """Keccak-256 with the padding of 2008, as Ethereum uses it."""
    rate = 136
    padded = bytearray(data + b"\x01" + b"\x00" * (-(len(data) + 1) % rate))
    padded[-1] |= 0x80
    state = [[0] * 5 for _ in range(5)]
    for block in range(0, len(padded), rate):
        for i in range(rate // 8):
            state[i % 5][i // 5] ^= int.from_bytes(padded[block + 8 * i:block + 8 * i + 8], "little")
        state = permute(state)
    return b"".join(state[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


def add(p, q):
    if p is None or q is None:
        return p or q
    if p[0] == q[0]:
        if (p[1] + q[1]) % P == 0:
            return None
        slope = 3 * p[0] * p[0] * pow(2 * p[1], -1, P)
    else:
        slope = (q[1] - p[1]) * pow(q[0] - p[0], -1, P)
    x = (slope * slope - p[0] - q[0]) % P
    return x, (slope * (p[0] - x) - p[1]) % P


def multiply(point, factor):
    result = None
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def address_of(key):
    x, y = multiply(G, key)
    return "0x" + keccak(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[-20:].hex()


def rlp(item):
    if isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8, "big")
    if isinstance(item, bytes) and len(item) == 1 and item[0] < 0x80:
        return item
    content = b"".join(map(rlp, item)) if isinstance(item, list) else item
    base = 0xC0 if isinstance(item, list) else 0x80
    if len(content) <= 55:
        return bytes([base + len(content)]) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([base + 55 + len(size)]) + size + content


def sign(key, chain_id, nonce, to, value=0, tip=10**9, max_fee=3 * 10**9, gas=21000, data=b"", high_s=False):
    """Raw bytes of a signed transaction as hex, and its hash. `high_s` makes the form that EIP-2 forbids."""
    fields = [chain_id, nonce, tip, max_fee, gas, bytes.fromhex(to[2:]), value, data, []]
    digest = keccak(b"\x02" + rlp(fields))
    k = int.from_bytes(hashlib.sha256(digest + key.to_bytes(32, "big")).digest(), "big") % N
    point = multiply(G, k)
    r, parity = point[0] % N, point[1] & 1
    s = (int.from_bytes(digest, "big") + r * key) * pow(k, -1, N) % N
    if (s > N // 2) != high_s:
        s, parity = N - s, parity ^ 1
    raw = b"\x02" + rlp(fields + [parity, r, s])
    return "0x" + raw.hex(), "0x" + keccak(raw).hex()
