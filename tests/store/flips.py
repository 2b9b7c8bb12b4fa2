"""Flips bits of files."""


def flipped(data, bits):
    """The bytes with these bits changed."""
    changed = bytearray(data)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flip(path, place=0.5):
    """Changes a bit of a file: in the byte of that number, or at that share of its length."""
    data = path.read_bytes()
    byte = place if isinstance(place, int) else int(len(data) * place)
    path.write_bytes(flipped(data, [8 * byte]))
