#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares frames: compare.py [--differing FILE] OURS ADDR2LINE [EU_ADDR2LINE]

Each is the output of its program with -a -i -f -C for the same addresses.  Rules:
- paths are compared with "." and ".." folded; columns and discriminators are left out;
- "??:0" and "??:?" are alike;
- an address for which symfile has no function (padding between functions) must have
  none in eu-addr2line either: binutils names the function before it;
- an entry of the PLT has a name only here (symfile-plt.sh checks these names);
- [clone ...] and .cold after a name come from the symbol table; DWARF does not have them;
- a file without a line (of the symbol table, "crtstuff.c:?") counts as none;
- where DWARF has no linkage name (templates of local types), this library names functions
  of the symbol table by their symbol, and inlined ones by DW_AT_name; binutils gives the
  innermost the symbol's name, whatever it is, and others DW_AT_name;
- where binutils and elfutils differ from each other, either is right, or functions as
  in addr2line and the innermost line as in eu-addr2line (binutils mistakes some files of
  partial units for "<artificial>", elfutils does not see what is inlined from them).
Prints counts; fails if an address equals neither.  eu-addr2line is slow, so its output may
cover only some addresses; with --differing those that differ from addr2line are written to
FILE and nothing is judged.
"""
import posixpath
import re
import sys


def parse(path):
    out = []
    function = None
    for text in open(path, encoding="utf-8", errors="replace"):
        text = text.rstrip("\n")
        if re.fullmatch(r"0x[0-9a-f]+", text):
            out.append((int(text, 16), []))
            function = None
        elif function is None:
            function = re.sub(r"( \[clone [^]]*\])+$|\.cold$", "", text.split(" inlined at ")[0])
        else:
            text = re.sub(r" \(discriminator \d+\)$", "", text)
            file, _, line = text.partition(":") if ":" in text else (text, "", "0")
            parts = text.split(":")
            file, numbers = parts[0], parts[1:]
            line = numbers[0] if numbers and numbers[0].isdigit() else "0"
            if file not in ("??", "") and line != "0":
                file = posixpath.normpath(file)
            else:
                file, line = "??", "0"
            out[-1][1].append((function, file, line))
            function = None
    return out


def plain(name):
    """DW_AT_name rather than a demangled linkage name of C++."""
    return name.endswith("operator()") or not re.search(r"\)( const)?$", name)


def alike(frames, other):
    """Alike except for functions that have no linkage name."""
    return (len(frames) == len(other) and
            all(a[1:] == b[1:] and (a[0] == b[0] or plain(a[0]) or plain(b[0]))
                for a, b in zip(frames, other)))


def judge(frames, b, e):
    """e is None if eu-addr2line did not get this address."""
    if frames == b or frames == e:
        return ("as both" if b == e else "as eu-addr2line" if frames == e else
                "as addr2line")
    if len(frames) == 1 and frames[0][0].endswith("@plt"):
        return "plt"
    if alike(frames, b) or (e and alike(frames, e)):
        return "no linkage name"
    if (e and [f[0] for f in frames] == [f[0] for f in b] and frames[1:] == b[1:] and
            frames[0][1:] == e[0][1:]):
        return "mixed"
    if frames[0][0] == "??" and (e is None or e[0][0] == "??"):
        return "outside functions"
    return "neither"


def main():
    args = sys.argv[1:]
    differing = None
    if args[0] == "--differing":
        differing = open(args[1], "w")
        args = args[2:]
    ours, bin_ = parse(args[0]), parse(args[1])
    eu = dict(parse(args[2])) if len(args) > 2 else {}
    assert [x[0] for x in ours] == [x[0] for x in bin_]
    count = {}
    inlined = shown = 0
    for (addr, frames), (_, b) in zip(ours, bin_):
        e = eu.get(addr)
        key = judge(frames, b, e)
        if differing and frames != b:
            print(hex(addr), file=differing)
        count[key] = count.get(key, 0) + 1
        inlined += len(frames) > 1
        if key == "neither" and shown < 10 and not differing:
            shown += 1
            print(f"{addr:#x}")
            for name, v in ("ours", frames), ("addr2line", b), ("eu-addr2line", e or []):
                print(" ", name)
                for k, frame in enumerate(v):
                    if k >= len(frames) or k >= len(b) or frames[k] != b[k]:
                        print("   ", k, *(x[:160] for x in frame))
    if differing:
        return 0
    print(f"{len(ours)} addresses, {inlined} in inlined code:",
          ", ".join(f"{v} {k}" for k, v in count.items()))
    return 1 if "neither" in count or not ours else 0


sys.exit(main())
