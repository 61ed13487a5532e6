# SPDX-License-Identifier: MIT
# tracedump --state --memory: text and JSON have the same bytes, all that are requested; what
# does not go together, and what is not known.  What the bytes are is compared with live
# programs (oracle/moments).
. "$SRC/tests/cli/libtracedump.sh"
need python3
dump=$BIN/tracedump
random_trace 2

cat >compare.py <<'END'
import json, re, subprocess, sys
dump, trace = sys.argv[1:]


def run(*options):
    done = subprocess.run([dump, "-q", *options, trace], capture_output=True, text=True)
    assert done.returncode in (0, 4), done
    return done.stdout.splitlines()


def of_text(lines, start, size):
    """Each byte, or None; rows that repeat are filled in."""
    got, last, star = {}, None, False
    for line in lines[lines.index("memory") + 1:]:
        if line == "  *":
            star = True
            continue
        m = re.fullmatch(r"  0x([0-9a-f]{8})  ((?:[0-9a-f?]{2} {1,2}){1,16}) *\|(.{1,16})\|", line)
        assert m, line
        at, row = int(m[1], 16), m[2].split()
        assert len(row) == len(m[3]), line
        for b, c in zip(row, m[3]):
            printable = b != "??" and 0x20 <= int(b, 16) < 0x7f
            assert c == (chr(int(b, 16)) if printable else "?" if b == "??" else "."), line
        while star and len(got) < at - start:
            got.update(zip(range(start + len(got), start + len(got) + 16), last))
        got.update(zip(range(at, at + 16), row))
        last, star = row, False
    assert sorted(got) == list(range(start, start + size)), (start, size, len(got))
    return got


def of_json(lines, size):
    got = {}
    for o in map(json.loads, lines):
        if o["kind"] == "memory":
            at = int(o["address"], 16)
            for i in range(o["size"]):
                got[at + i] = o["bytes"][2 * i:2 * i + 2] if o["bytes"] else "??"
    assert len(got) == size, len(got)
    return got


accesses = [json.loads(line) for line in run("--json", "-p", "200", "-e", "mem")]
known = stars = 0
for k in range(0, len(accesses), len(accesses) // 9):
    start = max(int(accesses[k]["addr"], 16) - 37 * (k % 3), 0) & 0xfffff000
    size = 4096 + 7 * (k % 11)
    options = ("-p", "200", "--state", str(accesses[k]["ordinal"] + 1), "--memory", "%d+%d" % (start, size))
    text = run(*options)
    a, b = of_text(text, start, size), of_json(run("--json", *options), size)
    assert a == b, (options, [(hex(i), a[i], b[i]) for i in a if a[i] != b[i]][:3])
    known += sum(v != "??" for v in a.values())
    stars += text.count("  *")
assert known > 1000 and stars > 5, (known, stars)
END
python3 compare.py "$dump" t.ctr || fail "text and JSON"

# What wrote the bytes last is what a search finds.
run 0 "$dump" -q -p 200 --json -e store t.ctr
addr=$(sed -n '40s/.*"addr":"\(0x[0-9a-f]*\)".*/\1/p' stdout)
run 0 "$dump" -q -p 200 --no-disassembly -a "$addr+8" --last-write-before end t.ctr
cp stdout want
"$dump" -q -p 200 --no-disassembly --state=end --memory="$addr+8" --writers t.ctr >stdout 2>stderr
tail -n "$(wc -l <want)" stdout | cmp -s - want || fail "--writers: $(tail -3 stdout)"
[ -s want ] || fail "nothing was written at $addr"

run 4 "$dump" -q -p 200 --state=end --memory=0x10+16 t.ctr
one_line "not known"
grep -q 'does not show what any of these bytes held$' stderr || fail "$(cat stderr)"
grep -q '^  0x00000010  ?? .*|????????????????|$' stdout || fail "$(tail -1 stdout)"
run 4 "$dump" -q -p 200 --state=end --memory=no_such_name t.ctr
grep -q -- '--memory' stderr || fail "$(cat stderr)"

is_usage tracedump --memory=0+16 t.ctr
is_usage tracedump --state=1 --writers t.ctr
"$dump" -q -p 200 --state=0 --memory="$addr+8" --writers t.ctr >stdout 2>stderr
grep -q -- ' --writers: no write there is recorded before it' stderr || fail "no writer: $(cat stderr)"
is_usage tracedump --state=1 --memory=0+16 --addr=0 t.ctr
is_usage tracedump -q -p 200 --state=end --memory=0+0x100001 t.ctr
is_usage tracedump -q -p 200 --state=end --memory=0-0xffffffff,0+0x10 t.ctr

# Of a machine, accesses in other address spaces do not count; the end is in that of the last
# instruction.  1 MiB is not too much.
"$TOOLS/mktrace" spaces spaces.ctr || exit 1
for moment in 2 3 end; do
    run 0 "$dump" -q --state=$moment --memory=0x21000+24 spaces.ctr
    sed -n '/^memory/,$p' stdout >"at-$moment"
done
grep -q '21000  02 00 00 00 00 00 00 00  03 00 ' at-2 || fail "space 2: $(cat at-2)"
for moment in 3 end; do
    grep -q '21000  01 00 00 00 00 00 00 00  ?? ?? ' "at-$moment" &&
        grep -q '21010  04 00 00 00 00 00 00 00 ' "at-$moment" ||
        fail "space 1: $(cat "at-$moment")"
done
run 0 "$dump" -q --state=end --memory=0x21000+0x100000 spaces.ctr
finish
