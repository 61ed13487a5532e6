#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads tracecov's output with parsers that share no code with it.

  covcheck.py drcov FILE       prints "module start size" of each block
  covcheck.py lcov FILE        geninfo(1): totals agree with the lines
  covcheck.py cobertura FILE   coverage-04.dtd: elements, attributes, sums
  covcheck.py json FILE        tracecov(1): members, sums
  covcheck.py html FILE        well-formed, no external resources
  covcheck.py same LCOV COBERTURA JSON    the same lines in all

An error is a line on stderr and status 1.
"""
import html.parser
import json
import os
import re
import struct
import sys
import xml.etree.ElementTree as ET


def need(cond, text):
    if not cond:
        sys.exit("covcheck: " + text)


# ------------------------------------------------------------------------ drcov

def drcov(path):
    """The format as DynamoRIO's drcov2lcov and Lighthouse read it."""
    data = open(path, "rb").read()
    at = 0

    def line():
        nonlocal at
        end = data.index(b"\n", at)
        text, at = data[at:end].decode("utf-8"), end + 1
        return text

    need(line() == "DRCOV VERSION: 2", "version")
    need(re.fullmatch(r"DRCOV FLAVOR: \S+", line()), "flavor")
    m = re.fullmatch(r"Module Table: version 2, count (\d+)", line())
    need(m, "module table")
    columns = line()
    need(columns == "Columns: id, base, end, entry, checksum, timestamp, path", columns)
    modules = []
    for i in range(int(m.group(1))):
        f = line().split(", ", 6)
        need(len(f) == 7 and int(f[0]) == i, "module %d" % i)
        base, end = int(f[1], 16), int(f[2], 16)
        need(all(re.fullmatch("0x[0-9a-f]+", x) for x in f[1:6]), "numbers of %d" % i)
        need(base < end and f[6], "module %d: %s" % (i, f))
        modules.append((base, end, f[6]))
    m = re.fullmatch(r"BB Table: (\d+) bbs", line())
    need(m, "block table")
    need(len(data) - at == 8 * int(m.group(1)), "size of the block table")
    seen = set()
    for start, size, mod in struct.iter_unpack("<IHH", data[at:]):
        need(mod < len(modules), "block of module %d" % mod)
        base, end, name = modules[mod]
        need(size > 0 and base + start + size <= end, "block %s+%x" % (name, start))
        need((start, size, mod) not in seen, "block %s+%x twice" % (name, start))
        seen.add((start, size, mod))
        print("%s %x %d" % (name, start, size))


# ------------------------------------------------------------------------- lcov

def read_lcov(path):
    """{source: {line: count}}, after checking everything else."""
    sources, src = {}, None
    for text in open(path, encoding="utf-8", errors="surrogateescape"):
        text = text.rstrip("\n")
        key, _, rest = text.partition(":")
        if text == "TN:":
            need(src is None, "TN inside")
        elif key == "SF":
            need(rest.startswith("/") and rest not in sources, "SF " + rest)
            src = {"fn": {}, "fnda": {}, "da": {}, "br": {}, "sum": {}}
            max_line = 0
            sources[rest] = src
        elif text == "end_of_record":
            check_record(src)
            src = None
        elif key == "FN":
            line, name = rest.split(",", 1)
            need("," not in name and int(line) > 0, "FN " + rest)
            need(name not in src["fn"], "name twice: " + name)
            src["fn"][name] = int(line)
        elif key == "FNDA":
            count, name = rest.split(",", 1)
            src["fnda"][name] = int(count)
        elif key == "BRDA":
            line, block, branch, taken = rest.split(",")
            k = (int(line), int(block), int(branch))
            need(k not in src["br"], "BRDA twice: " + rest)
            src["br"][k] = None if taken == "-" else int(taken)
        elif key == "DA":
            line, count = map(int, rest.split(","))
            need(line > max_line, "DA out of order: " + rest)
            max_line = line
            src["da"][line] = count
        else:
            need(key in ("FNF", "FNH", "BRF", "BRH", "LF", "LH"), text)
            src["sum"][key] = int(rest)
    need(src is None, "no end_of_record")
    return sources


def check_record(s):
    need(s["fn"].keys() == s["fnda"].keys(), "FN and FNDA differ")
    want = {"FNF": len(s["fn"]), "FNH": sum(v > 0 for v in s["fnda"].values()),
            "LF": len(s["da"]), "LH": sum(v > 0 for v in s["da"].values())}
    if s["br"]:
        want["BRF"] = len(s["br"])
        want["BRH"] = sum(bool(v) for v in s["br"].values())
    need(s["sum"] == want, "sums: %s, not %s" % (s["sum"], want))
    need(len(s["da"]) > 0, "no lines")
    for (line, block, branch), v in s["br"].items():
        other = s["br"].get((line, block, 1 - branch), "none")
        need(other != "none" and (v is None) == (other is None), "pair of %d" % line)
        need(line in s["da"], "branch without line %d" % line)
        need(s["da"][line] or v is None, "branch of line %d that did not run" % line)


# -------------------------------------------------------------------- cobertura

CHILDREN = {"coverage": ["sources", "packages"], "sources": ["source*"],
            "packages": ["package*"], "package": ["classes"], "classes": ["class*"],
            "class": ["methods", "lines"], "methods": ["method*"], "method": ["lines"],
            "lines": ["line*"], "line": ["conditions?"], "conditions": ["condition*"]}
RATES = {"line-rate", "branch-rate", "complexity"}
ATTRIBUTES = {"coverage": RATES | {"lines-covered", "lines-valid", "branches-covered",
                                   "branches-valid", "version", "timestamp"},
              "package": RATES | {"name"}, "class": RATES | {"name", "filename"},
              "method": RATES | {"name", "signature"},
              "condition": {"number", "type", "coverage"}}


def check_element(e):
    kids, want = [c.tag for c in e], CHILDREN.get(e.tag, [])
    if want and want[0][-1] == "*":
        need(set(kids) <= {want[0][:-1]}, "in <%s>: %s" % (e.tag, kids))
    elif want and want[0][-1] == "?":
        need(kids in ([], [want[0][:-1]]), "in <%s>: %s" % (e.tag, kids))
    else:
        need(kids == want, "in <%s>: %s" % (e.tag, kids))
    if e.tag == "line":
        pairs = e.get("condition-coverage")
        need((e.get("branch") == "true") == (pairs is not None), "branch of a line")
        need(int(e.get("number")) > 0 and int(e.get("hits")) >= 0, "a line's numbers")
        if pairs:
            m = re.fullmatch(r"(\d+)% \((\d+)/(\d+)\)", pairs)
            need(m and int(m[2]) * 100 // int(m[3]) in (int(m[1]), int(m[1]) - 1,
                                                         int(m[1]) + 1), pairs)
            need((m[1] == "100") == (m[2] == m[3]), pairs)
    else:
        need(set(e.attrib) == ATTRIBUTES.get(e.tag, set()), "attributes of " + e.tag)
    for name in ("line-rate", "branch-rate"):
        if name in e.attrib:
            need(re.fullmatch(r"1\.0|0\.\d+", e.get(name)), name + " " + e.get(name))
    for c in e:
        check_element(c)


def read_cobertura(path):
    with open(path, encoding="utf-8") as f:
        head = f.read(200)
    need("coverage-04.dtd" in head and head.startswith("<?xml"), "no document type")
    root = ET.parse(path).getroot()
    check_element(root)
    folder, sources = root.find("sources/source").text or "", {}
    lines = hit = br = br_hit = 0
    for c in root.iter("class"):
        v = {}
        for e in c.findall("lines/line"):
            v[int(e.get("number"))] = int(e.get("hits"))
            if e.get("condition-coverage"):
                m = re.search(r"\((\d+)/(\d+)\)", e.get("condition-coverage"))
                br_hit += int(m[1])
                br += int(m[2])
        for e in c.findall("methods/method/lines/line"):
            need(v[int(e.get("number"))] == int(e.get("hits")), "line of a method")
        lines += len(v)
        hit += sum(n > 0 for n in v.values())
        sources[os.path.join(folder, c.get("filename"))] = v
    need([int(root.get(k)) for k in ("lines-valid", "lines-covered", "branches-valid",
                                     "branches-covered")] == [lines, hit, br, br_hit],
         "sums of <coverage>")
    return sources


# ------------------------------------------------------------------- JSON, HTML

def read_json(path):
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    need(doc["format"] == "tracecov" and doc["version"] == 2, "format, version")
    for k in ("target", "traces", "instructions", "elsewhere", "whole", "branches_known"):
        need(k in doc, "no member " + k)
    total, sources = {k: 0 for k in doc["totals"]}, {}
    bare = {k: 0 for k in doc["without_lines"]}
    modules = {m["index"] for m in doc["modules"]}
    for s in doc["sources"]:
        t = s["totals"]
        f = s["functions"]
        need([t["functions"], t["functions_hit"]] ==
             [len(f), sum(x["count"] > 0 for x in f)], "functions of " + s["path"])
        for x in f:
            need(x["module"] in modules and x["insns_hit"] <= x["insns"], x["name"])
            int(x["addr"], 16)
        if "module" not in s:
            v = {x["line"]: x["count"] for x in s["lines"]}
            need(len(v) == len(s["lines"]) == t["lines"], "lines of " + s["path"])
            need(t["lines_hit"] == sum(n > 0 for n in v.values()), "lines hit")
            need(t["branches"] == len(s["branches"]), "branches of " + s["path"])
            need(t["branches_hit"] == sum(bool(x["count"]) for x in s["branches"]),
                 "branches hit")
            sources[s["path"]] = v
        for k in bare if "module" in s else total:
            (bare if "module" in s else total)[k] += t[k]
    need(total == doc["totals"], "totals: %s, not %s" % (doc["totals"], total))
    need(bare == doc["without_lines"], "without lines: %s" % bare)
    check_modules(doc)
    need(sum(m["instructions"] for m in doc["modules"]) + doc["elsewhere"] <=
         doc["instructions"] or not doc["whole"], "instructions")
    return sources


def check_modules(doc):
    """What one module has, the totals have; what they have, some module has."""
    for name in ("totals", "without_lines"):
        for k, n in doc[name].items():
            v = [m[name][k] for m in doc["modules"]]
            need(max(v, default=0) <= n <= sum(v), "%s of modules: %s" % (k, v))


class Page(html.parser.HTMLParser):
    EMPTY = {"meta", "link", "input", "br"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "action", "data"):
                need(value.startswith("data:"), "external resource: %s" % value)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        need(self.open and self.open.pop() == tag, "unbalanced </%s>" % tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            need("url(" not in data and "@import" not in data, "external style")


def check_html(path):
    p = Page()
    with open(path, encoding="utf-8") as f:
        p.feed(f.read())
    p.close()
    need(not p.open, "not closed: %s" % p.open)


def main(argv):
    kind, paths = argv[1], argv[2:]
    if kind == "drcov":
        drcov(paths[0])
    elif kind == "same":
        lcov = {k: v["da"] for k, v in read_lcov(paths[0]).items()}
        need(lcov == read_cobertura(paths[1]), "lcov and cobertura differ")
        need(lcov == read_json(paths[2]), "lcov and JSON differ")
        print("%d sources, %d lines" % (len(lcov), sum(map(len, lcov.values()))))
    else:
        {"lcov": read_lcov, "cobertura": read_cobertura, "json": read_json,
         "html": check_html}[kind](paths[0])


main(sys.argv)
