# SPDX-License-Identifier: MIT
"""Small ELF files of aarch64: code at an address, with functions; objects, whose sections have
no address."""
import struct

TYPES = {"exec": 2, "dyn": 3}
CODE = 0x1000  # in the file
NAMES = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"


def write(name, kind, address, text, functions):
    """functions: (name, offset in text, size)."""
    names, symbols = b"\0", bytes(24)
    for function, at, size in functions:
        symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, address + at, size)
        names += function.encode() + b"\0"
    offset, parts, sections = CODE, b"", bytes(64)
    for section, section_type, flags, data, link, entry in (
            (1, 1, 6, text, 0, 0), (7, 2, 0, symbols, 3, 24), (15, 3, 0, names, 0, 0),
            (23, 3, 0, NAMES, 0, 0)):
        sections += struct.pack("<IIQQQQIIQQ", section, section_type, flags,
                                address if flags else 0, offset, len(data), link,
                                1 if entry else 0, 8, entry)
        parts += data
        offset += len(data)
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", TYPES[kind], 183, 1, address, 64, offset, 0, 64, 56, 1, 64, 5, 4)
    segment = struct.pack("<IIQQQQQQ", 1, 5, CODE, address, 0, len(text), len(text), CODE)
    with open(name, "wb") as f:
        f.write((header + segment).ljust(CODE, b"\0") + parts + sections)


def write_object(name, sections):
    """sections: (name, flags, alignment, bytes, functions[, relocations]); functions as above, in
    the section; relocations: offsets."""
    names, symbols, texts = b"\0", bytes(24), b"\0"
    rows, relocations = [], []
    for i, (section, flags, alignment, data, functions, *at) in enumerate(sections):
        rows.append([len(texts), 1, flags, data, 0, 0, alignment, 0])
        if at:
            entries = b"".join(struct.pack("<QQq", offset, 0x11b, 0) for offset in at[0])
            relocations.append((".rela" + section, 4, entries, len(sections) + 1, 24, i + 1))
        texts += section.encode() + b"\0"
        for function, at, size in functions:
            symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, i + 1, at, size)
            names += function.encode() + b"\0"
    for section, kind, data, link, entry, info in (
            (".symtab", 2, symbols, len(rows) + 2, 24, 1), (".strtab", 3, names, 0, 0, 0),
            *relocations, (".shstrtab", 3, None, 0, 0, 0)):
        rows.append([len(texts), kind, 0, data, link, entry, 8, info])
        texts += section.encode() + b"\0"
    rows[-1][3] = texts
    parts, table = b"", bytes(64)
    for at, kind, flags, data, link, entry, alignment, info in rows:
        parts += b"\0" * (-len(parts) % alignment)
        table += struct.pack("<IIQQQQIIQQ", at, kind, flags, 0, 64 + len(parts), len(data), link,
                             info, alignment, entry)
        parts += data
    parts += b"\0" * (-len(parts) % 8)
    with open(name, "wb") as f:
        f.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
            "<HHIQQQIHHHHHH", 1, 183, 1, 0, 0, 64 + len(parts), 0, 64, 0, 0, 64, len(rows) + 1,
            len(rows)) + parts + table)
