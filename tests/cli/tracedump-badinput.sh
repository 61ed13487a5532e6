# SPDX-License-Identifier: MIT
# Input that is no whole trace: one line, the defined status, and never a
# wrong answer that looks right.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
"$TOOLS/mktrace" sample good.ctr || exit 1
"$dump" --json good.ctr >good.json || exit 1

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

# Every cut and every flipped byte.  Status 0 means the whole truth; 3 a part
# of it from the start on; 1 nothing that is wrong.  DAMAGE_STEP=1 tries each byte.
python3 - <<'PY' || fail "damaged traces"
import os, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
good = open("good.ctr", "rb").read()
want = open("good.json", "rb").read()
bad = 0

def run(data, what, stream):
    args = [dump, "--json", "-j1"]
    if stream:
        p = subprocess.run(args + ["-"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    else:
        with open("t.ctr", "wb") as f:
            f.write(data)
        p = subprocess.run(args + ["t.ctr"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = p.stderr.count(b"\n")
    why = None
    if p.returncode not in (0, 1, 3):
        why = "status %d" % p.returncode
    elif p.returncode == 0 and p.stdout != want:
        why = "status 0 and another output"
    elif not want.startswith(p.stdout):
        why = "events that were never recorded"
    elif lines != (p.returncode != 0):
        why = "%d lines on stderr, status %d" % (lines, p.returncode)
    if why:
        global bad
        bad += 1
        if bad < 10:
            print("%s%s: %s %s" % (what, ", stream" if stream else "", why,
                                   p.stderr[:600].decode(errors="replace")), file=sys.stderr)
    return p

step = int(os.environ.get("DAMAGE_STEP", "5"))
seen = {}
for cut in range(0, len(good), step):
    for stream in (False, True):
        p = run(good[:cut], "cut at %d" % cut, stream)
        if p.returncode == 0:
            if bad < 10:
                print("cut at %d%s: status 0" % (cut, ", stream" if stream else ""), file=sys.stderr)
            bad += 1
        # more of the file is never less of the trace
        if len(p.stdout) < seen.get(stream, 0):
            print("cut at %d: less than before" % cut, file=sys.stderr)
            bad += 1
        seen[stream] = len(p.stdout)
for at in range(0, len(good), step):
    data = bytearray(good)
    data[at] ^= 1 << (at * 5 % 8)
    run(bytes(data), "byte %d flipped" % at, False)
    if at % 3 == 0:
        run(bytes(data), "byte %d flipped" % at, True)
sys.exit(bad != 0)
PY
finish
