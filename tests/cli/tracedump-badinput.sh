# SPDX-License-Identifier: MIT
# Input that is no whole trace: one line, the documented status, and never a
# wrong answer that looks right.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
"$TOOLS/mktrace" sample good.ctr || exit 1

refused() { # WHY PATTERN FILE
    for how in "" --no-index --info; do
        # shellcheck disable=SC2086
        run 1 "$dump" $how "$3"
        one_line "$1 $how"
        grep -Eiq "$2" stderr || fail "$1 $how: $(cat stderr)"
        [ ! -s stdout ] || fail "$1 $how: something on stdout"
    done
}
refused "missing file" 'no such file' missing.ctr
mkdir folder
refused "directory" 'directory' folder
: >empty
refused "empty file" 'trace' empty
printf 'hello, this is a text\n' >text
refused "a text" 'trace' text
head -c 70000 /dev/zero >zeros
refused "zeros" 'trace' zeros
# Whole sections and no chunk among them, as the file of a recording that has just begun
cat >begun.py <<'PY'
import struct
data = open("good.ctr", "rb").read()
at = data.index(b"SECT") - 8
while struct.unpack_from("<H", data, at + 12)[0] != 5: # a chunk
    size, = struct.unpack_from("<I", data, at + 4)
    columns, = struct.unpack_from("<H", data, at + 20)
    at += 8 + size + sum(struct.unpack_from("<I", data, at + 24 + 16 * i)[0] for i in range(columns))
open("begun", "wb").write(data[:at])
PY
python3 begun.py || fail "begun.py"
refused "just begun" \
    '^tracedump: begun: there is no chunk in the file yet: its recording has just begun, or was cut short$' begun
cp begun cut
head -c 60 good.ctr | tail -c 20 >>cut
refused "damaged before the first chunk" '(no section here|ends too early).* \(at offset [0-9]*\)$' cut
if command -v zstd >/dev/null; then
    zstd -q -f text -o text.zst
    refused "another zstd file" 'trace' text.zst
fi
if [ "$(id -u)" -ne 0 ]; then
    cp good.ctr secret.ctr
    chmod 0 secret.ctr
    refused "no permission" 'denied' secret.ctr
fi
for file in empty text zeros; do
    run 1 "$dump" - < <(cat $file)
    one_line "$file as a stream"
done

# Every cut and every flipped byte.  Status 0 means the complete output; 3 a prefix of it;
# 1 no wrong output.  DAMAGE_STEP=1 tries each byte.
"$TOOLS/mktrace" system events.ctr || exit 1
cat >damage.py <<'PY'
import os, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
name, step = sys.argv[1], int(os.environ.get("DAMAGE_STEP", sys.argv[2]))
good = open(name, "rb").read()
ARGS = [dump, "--json", "--no-modules", "-j1"]
bad = 0

# The output for calls that did not return depends on what follows, and they come last:
# they are left out.
def shown(out):
    return b"".join(l for l in out.splitlines(True)
                    if b'"kind":"syscall"' not in l or b'"result":' in l)

want = shown(subprocess.run(ARGS + [name], stdout=subprocess.PIPE).stdout)

def wrong(why, what, stream, err=b""):
    global bad
    bad += 1
    if bad < 10:
        print("%s%s: %s %s" % (what, ", stream" if stream else "", why,
                               err[:600].decode(errors="replace")), file=sys.stderr)

def run(data, what, stream):
    if stream:
        p = subprocess.run(ARGS + ["-"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    else:
        with open("t.ctr", "wb") as f:
            f.write(data)
        p = subprocess.run(ARGS + ["t.ctr"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = p.stderr.count(b"\n")
    out = shown(p.stdout)
    if p.returncode not in (0, 1, 3):
        wrong("status %d" % p.returncode, what, stream, p.stderr)
    elif p.returncode == 0 and out != want:
        wrong("status 0 and different output", what, stream, p.stderr)
    elif not want.startswith(out):
        wrong("events that were never recorded", what, stream, p.stderr)
    elif lines != (p.returncode != 0):
        wrong("%d lines on stderr, status %d" % (lines, p.returncode), what, stream, p.stderr)
    return p.returncode, out

# Outputs that need all mappings or a state: any result but a crash.
def survives(data, what):
    with open("t.ctr", "wb") as f:
        f.write(data)
    for args in (["-j2"], ["--info"], ["--state=9", "-t", "4242"]):
        p = subprocess.run([dump] + args + ["t.ctr"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode not in (0, 1, 3) or (p.returncode != 0) != (p.stderr != b""):
            wrong("%s: status %d" % (" ".join(args), p.returncode), what, False, p.stderr)

seen = {}
for cut in range(0, len(good), step):
    for stream in (False, True):
        status, out = run(good[:cut], "cut at %d" % cut, stream)
        if status == 0:
            wrong("status 0", "cut at %d" % cut, stream)
        if len(out) < seen.get(stream, 0): # a longer file never gives less of the trace
            wrong("less than before", "cut at %d" % cut, stream)
        seen[stream] = len(out)
for at in range(0, len(good), step):
    data = bytearray(good)
    data[at] ^= 1 << (at * 5 % 8)
    run(bytes(data), "byte %d flipped" % at, False)
    if at % 3 == 0:
        run(bytes(data), "byte %d flipped" % at, True)
        survives(bytes(data), "byte %d flipped" % at)
sys.exit(bad != 0)
PY
python3 damage.py good.ctr 11 || fail "damaged traces"
python3 damage.py events.ctr 19 || fail "damaged traces with events"
finish
