# SPDX-License-Identifier: MIT
# Handmade profiles and call trees in each format: as expected, and as
# readers that share no code with the writers read them.
. "$SRC/tests/cli/libtracedump.sh"

"$TOOLS/mktrace" sample t.ctr || exit 1
for kind in text loads pruned shallow functions by-thread folded callgrind json json-functions \
    chrome inverted select select-functions select-by-thread diff diff-functions diff-by-thread \
    diff-folded; do
    run 0 "$TOOLS/mkgraph" $kind t.ctr
    silent $kind
    cp stdout graph.$kind
    sed "s/^creator: .*/creator: tracesym/" graph.$kind >stdout
    golden graph-$kind.txt
done
# These are read by the checks below only.
for kind in svg inverted-pruned inverted-loads inverted-folded inverted-json inverted-svg \
    app-text app-json app-folded app-svg app-icicle app-percent select-json select-svg old-json \
    diff-pruned diff-json diff-json-functions diff-svg diff-inverted diff-inverted-folded \
    diff-select by-thread-pruned by-thread-json same-folded same-text; do
    run 0 "$TOOLS/mkgraph" $kind t.ctr
    silent $kind
    cp stdout graph.$kind
done

# A disk that is full
for kind in text functions folded callgrind svg json chrome inverted-svg diff diff-svg select; do
    "$TOOLS/mkgraph" $kind t.ctr >/dev/full 2>/dev/null && fail "$kind: a full disk is not noticed"
done

python3 - <<'PY' || fail "wrong output"
import collections, json, re
import xml.etree.ElementTree as ET

TOTAL = 10000  # instructions in all nodes of mkgraph.c

# folded: sums, and no separator in a name
stacks = [l.rsplit(" ", 1) for l in open("graph.folded", "rb").read().decode("utf-8", "replace").splitlines()]
assert sum(int(n) for _, n in stacks) == TOTAL
assert all(s.split(";")[0].startswith("thread 100/") for s, _ in stacks)

# JSON: parents come first, inclusive = self + that of the children
nodes = {}
for line in open("graph.json"):
    n = json.loads(line)
    assert n["parent"] is None or n["parent"] in nodes
    assert n["depth"] == (0 if n["parent"] is None else nodes[n["parent"]]["depth"] + 1)
    nodes[n["node"]] = n
below = collections.Counter()
for n in nodes.values():
    below[n["parent"]] += n["inclusive"]
assert below[None] == TOTAL
assert all(n["inclusive"] == n["self"] + below[n["node"]] for n in nodes.values())
flat = [json.loads(l) for l in open("graph.json-functions")]
assert sum(f["self"] for f in flat) == TOTAL
assert [f["self"] for f in flat] == sorted((f["self"] for f in flat), reverse=True)
assert not any(f["function"] == "never" for f in flat)

# by thread: together they have what the functions have
apart = [json.loads(l) for l in open("graph.by-thread-json")]
sums = collections.defaultdict(collections.Counter)
for f in apart:
    sums[f["function"]].update({k: v for k, v in f.items() if type(v) is int and k not in ("pid", "tid")})
assert sums == {f["function"]: {k: v for k, v in f.items() if type(v) is int} for f in flat}
assert [(f["thread"], f["self"]) for f in apart if f["function"] == "sum"] == \
    [("thread 100/100", 7000), ("thread 100/101", 1385)]
assert all({"pid", "tid"} <= set(f) for f in apart)
threads = open("graph.by-thread-pruned", errors="replace").read().split("\n\n")
assert len(threads) == 4 and "(5 more functions)" in threads[1] and \
    threads[2].splitlines()[-1] == "          2385  23.9% in this thread", threads

# trace events: nesting within a thread
events = json.load(open("graph.chrome"))["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
assert len(spans) == 3 and all(e["dur"] > 0 for e in spans)
outer = spans[-1]
for e in spans[:-1]:
    assert outer["ts"] <= e["ts"] and e["ts"] + e["dur"] <= outer["ts"] + outer["dur"]
    assert round(e["dur"] * 1000) == e["args"]["to"] - e["args"]["from"]
assert any(e["ph"] == "M" and e["name"] == "process_name" for e in events)

# callgrind, by its specification: self costs add up to the summary
self_cost, names, calls, skip = collections.Counter(), {}, 0, False
for line in open("graph.callgrind", encoding="utf-8", errors="replace"):
    m = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
    if m:
        if m[3]:
            assert m[2] not in names
            names[m[2]] = m[3]
        if m[1] == "fn":
            current = names[m[2]]
    elif line.startswith("summary:"):
        summary = list(map(int, line.split()[1:]))
    elif line.startswith("calls="):
        calls += int(line[6:].split()[0])
        skip = True
    elif re.match(r"0x", line):
        if not skip:
            for i, v in enumerate(line.split()[2:]):
                self_cost[i] += int(v)
        skip = False
assert [self_cost[i] for i in range(3)] == summary and summary[0] == TOTAL, (self_cost, summary)
assert calls == 17, calls
PY

python3 - <<'PY' || fail "wrong trees made of others"
import collections, json


def folded(kind):
    lines = open("graph." + kind, "rb").read().decode("utf-8", "replace").splitlines()
    return [line.rsplit(" ", 1) for line in lines]


def objects(kind):
    return [json.loads(line) for line in open("graph." + kind)]


# inverted: each path from its other end, and the roots are the flat profile
turned = collections.Counter()
for path, n in folded("folded"):
    turned[";".join(reversed(path.split(";")))] += int(n)
got = folded("inverted-folded")
assert len({path for path, _ in got}) == len(got)
assert {path: int(n) for path, n in got} == dict(turned)
nodes = {n["node"]: n for n in objects("inverted-json")}
below = collections.Counter()
for n in nodes.values():
    below[n["parent"]] += n["inclusive"]
assert below[None] == 10000
assert all(n["inclusive"] == n["self"] + below[k] for k, n in nodes.items())
self_cost = {f["function"]: f["self"] for f in objects("json-functions") if f["self"]}
assert {n["function"]: n["inclusive"] for n in nodes.values() if n["parent"] is None} == self_cost
assert "(3 more)" in open("graph.inverted-pruned", errors="replace").read().splitlines()[-1]

# two traces: the costs of each are those of its own tree
def paths(nodes, prefix=""):
    at, out = {}, {}
    for n in nodes:
        name = n["function"].split("-")[0]
        at[n["node"]] = (at[n["parent"]] + ";" if n["parent"] is not None else "") + name
        out[at[n["node"]]] = [n[prefix + k] for k in ("calls", "self", "inclusive", "self_loads")]
    return out


both, now, old = objects("diff-json"), paths(objects("app-json")), paths(objects("old-json"))
nothing = [0, 0, 0, 0]
assert {k: v for k, v in paths(both).items() if v != nothing} == \
    {k: v for k, v in now.items() if v != nothing}
assert {k: v for k, v in paths(both, "older_").items() if v != nothing} == \
    {k: v for k, v in old.items() if v != nothing}
assert set(paths(both)) == set(now) | set(old)
flat = {f["function"]: (f["older_self"], f["self"], f["older_inclusive"], f["inclusive"])
        for f in objects("diff-json-functions")}
assert flat["parse"] == (20000, 48000, 20000, 48001), flat["parse"]
assert flat["gone"] == (700, 0, 700, 0)
turned = {";".join(reversed(p.rsplit(" ", 1)[0].split(";"))) + " " + p.rsplit(" ", 1)[1] + " " + n
          for p, n in folded("diff-folded")}
assert {p + " " + n for p, n in folded("diff-inverted-folded")} == turned
assert all(p.rsplit(" ", 1)[1] == n for p, n in folded("same-folded"))
for line in open("graph.same-text").read().splitlines()[1:]:
    before, after, difference, change = line.split()[:4]
    assert before == after and difference == "0" and (change == "+0.0%" or before == "0"), line
last = open("graph.diff-select").read().splitlines()[-2:]
assert last[0].split()[:3] == ["82500", "98001", "+15501"] and last[0].endswith("in these calls")
assert last[1].split()[:3] == ["85226", "99932", "+14706"] and last[1].endswith("in all")
selected = objects("select-json")
assert [n["function"] for n in selected if n["parent"] is None] == ["eval", "parse"]
assert sum(n["self"] for n in selected) == 98001
PY
python3 "$SRC/tests/cli/graph_svg.py" || fail "wrong flame graphs"

if command -v callgrind_annotate >/dev/null; then
    callgrind_annotate --threshold=100 graph.callgrind >annotated 2>err || fail "callgrind_annotate: $(cat err)"
    [ ! -s err ] || fail "callgrind_annotate says: $(head -3 err)"
    grep -q '10,000.*PROGRAM TOTALS' annotated || fail "callgrind_annotate's totals: $(grep TOTALS annotated)"
    grep -q '8,385.*sum' annotated || fail "callgrind_annotate does not see sum"
fi

# In a browser: a click zooms to a frame, another on `reset' back.
if command -v chromium >/dev/null; then
    mkdir -p browser && cp graph.svg browser/graph.svg
    cat >browser/zoom.html <<'END'
<!DOCTYPE html><title>-</title><iframe id="f" src="graph.svg"></iframe><p id="said">nothing</p>
<script>
addEventListener('load', () => {
  const say = words => { document.getElementById('said').textContent = words; };
  try {
    const svg = document.getElementById('f').contentDocument;
    const all = Array.from(svg.querySelectorAll('g.f'));
    const x = g => +g.children[1].getAttribute('x'), w = g => +g.children[1].getAttribute('width');
    const y = g => +g.children[1].getAttribute('y');
    const click = e => e.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    const shown = () => all.filter(g => svg.defaultView.getComputedStyle(g).display !== 'none');
    const was = all.map(g => [x(g), w(g)]);
    const frame = all.find(g => w(g) < 100 && x(g) > 0);
    const from = x(frame), to = from + w(frame);
    const above = all.filter(g => y(g) < y(frame) && x(g) + 0.01 >= from && x(g) + w(g) <= to + 0.01);
    click(frame);
    const zoomed = x(frame) === 0 && Math.abs(w(frame) - 1200) < 0.1 &&
      shown().length < all.length && above.length > 0 &&
      above.every(g => shown().includes(g)) &&
      shown().every(g => x(g) > -0.1 && x(g) + w(g) < 1200.1);
    click(svg.getElementById('reset'));
    const back = shown().length === all.length &&
      all.every((g, i) => Math.abs(x(g) - was[i][0]) < 0.01 && Math.abs(w(g) - was[i][1]) < 0.01);
    say('zoomed ' + zoomed + ', back ' + back);
  } catch (e) {
    say('failed: ' + e);
  }
});
</script>
END
    timeout 600 chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
        --user-data-dir="$PWD/browser/data" --virtual-time-budget=5000 \
        --dump-dom "file://$PWD/browser/zoom.html" >browser/dom 2>browser/err </dev/null
    if [ ! -s browser/dom ]; then
        echo "chromium does not run here: $(tail -1 browser/err)"
    elif ! grep -q '<p id="said">zoomed true, back true</p>' browser/dom; then
        fail "in a browser: $(grep -o '<p id="said">[^<]*' browser/dom)"
    fi
fi
finish
