#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the flame graphs that graph.sh made: graph.KIND in the current folder.

They are well formed; frames of one row do not overlap and are within those of the row below;
costs are those of the JSON output, and nothing is missing: what is too narrow is in frames
named "(N others)".
"""
import collections
import json
import re
import xml.etree.ElementTree as ET

NS = "{http://www.w3.org/2000/svg}"
TITLE = re.compile(r"(.*?)(?: \[([^\]]*)\])?: (\d+) ([a-z]+), ([\d.]+)% of all"
                   r"(?:, ([\d.]+)% of parent)?([^:]*)", re.DOTALL)
ROW, TOP, BOTTOM = 18, 74, 10


class Frame:
    def __init__(self, g):
        rect = g.find(NS + "rect")
        self.classes = g.get("class").split()
        self.id = g.get("id")
        self.x, self.width = float(rect.get("x")), float(rect.get("width"))
        self.y = int(rect.get("y"))
        self.fill = rect.get("fill")
        self.title = g.find(NS + "title").text
        match = TITLE.fullmatch(self.title)
        assert match, self.title
        self.name, self.cost, self.unit = match[1], int(match[3]), match[4]
        self.of_all = float(match[5])
        self.of_parent = float(match[6]) if match[6] else None
        self.rest = match[7]

    def end(self):
        return self.x + self.width


class Graph:
    def __init__(self, kind):
        self.root = ET.parse("graph." + kind).getroot()
        self.group = next(g for g in self.root.iter(NS + "g") if g.get("id") == "frames")
        self.frames = [Frame(g) for g in self.root.iter(NS + "g")
                       if "f" in (g.get("class") or "").split()]
        self.fold = next((g for g in self.root.iter(NS + "g") if g.get("id") == "fold"), None)
        self.down = int(self.group.get("data-down"))
        self.check()

    def data(self, name):
        return float(self.group.get("data-" + name))

    def by_name(self, name):
        return [f for f in self.frames if f.name == name]

    def rows(self):
        """From the base on."""
        rows = collections.defaultdict(list)
        for f in self.frames:
            rows[self.down * f.y].append(f)
        return [sorted(rows[y], key=lambda f: f.x) for y in sorted(rows)]

    def check(self):
        rows = self.rows()
        for below, row in zip([None] + rows, rows):
            for a, b in zip(row, row[1:]):
                assert a.end() <= b.x + 0.02, (a.title, b.title)
            for f in row if below else []:
                assert any(p.x - 0.02 <= f.x and f.end() <= p.end() + 0.02 for p in below), f.title
        assert abs(rows[0][0].x - self.data("x")) < 0.02
        assert abs(sum(f.width for f in rows[0]) - self.data("width")) < 0.02 * len(rows[0])
        assert self.data("height") == TOP + ROW * len(rows) + BOTTOM
        assert int(self.root.get("height")) == self.data("folded-height")
        assert (self.fold is not None) == (self.root.get("class") == "folded")


def objects(kind):
    return [json.loads(line) for line in open("graph." + kind)]


# Two threads: nothing is folded
g = Graph("svg")
assert g.fold is None and g.data("x") == 0 and g.data("width") == 1200
assert not any(c in f.classes for f in g.frames for c in ("base", "gone", "others"))
assert any(f.name == 'operator<(std::pair<int, char const*> const&, "x"; y)' for f in g.frames)
assert sorted(f.cost for f in g.frames) == sorted(n["inclusive"] for n in objects("json"))
f = g.by_name("main")[0]
assert (f.unit, f.of_all, f.of_parent) == ("instructions", 76.05, 99.87), f.title

# A program: what is below main is folded, what is next to it is not in view
for kind, shift in (("app-svg", 0), ("app-icicle", -2 * ROW)):
    g = Graph(kind)
    assert g.down == (1 if kind == "app-icicle" else -1)
    focus = [f for f in g.frames if f.id == "focus"]
    assert [f.name for f in focus] == ["main"] and (focus[0].x, focus[0].width) == (0, 1200)
    base = [f.name for f in g.frames if "base" in f.classes]
    assert base == ["app-77", "_start", "__libc_start_main"], base
    title = g.fold.find(NS + "title").text.splitlines()
    assert [line.split(":")[0].split(" [")[0] for line in title[1:]] == base
    assert g.fold.find(NS + "text").text == "app-77 > _start > __libc_start_main"
    assert [f.name for f in g.frames if "gone" in f.classes] == ["exit"]
    assert len(g.rows()) == 6 and g.data("folded-height") == TOP + 4 * ROW + BOTTOM
    assert g.group.get("transform") == "translate(0,%d)" % shift
    # the part in view is within the picture
    ys = [int(g.fold.find(NS + "rect").get("y"))] + [
        f.y for f in g.frames if not set(f.classes) & {"base", "gone"}]
    assert min(ys) + shift == TOP and max(ys) + shift + ROW + BOTTOM == g.data("folded-height")
    button = next(t for t in g.root.iter(NS + "text") if t.get("id") == "base")
    assert button.text == ("show all: 3 frames at the base are folded, "
                           "0.93% of the cost is outside"), button.text
    assert sorted((f.name, f.cost) for f in g.frames if "others" in f.classes) == [
        ("(1 other)", 1), ("(2 others)", 5)]
    f = g.by_name("eval")[0]
    assert (f.of_all, f.of_parent) == (58.04, 58.58), f.title
    assert f.rest == ", self 50000, 9 calls", f.title
    narrow = {"tiny", "small"}
    assert sorted(f.cost for f in g.frames if "others" not in f.classes) == sorted(
        n["inclusive"] for n in objects("app-json") if n["function"] not in narrow)

# --min-percent: the same, with a higher limit
g = Graph("app-percent")
assert {f.name for f in g.frames if "others" not in f.classes} == {
    "app-77", "_start", "__libc_start_main", "main", "eval", "parse"}
assert sorted((f.name, f.cost) for f in g.frames if "others" in f.classes) == [
    ("(1 other)", 1), ("(1 other)", 900), ("(1 other)", 8000), ("(2 others)", 5)]

# Inverted: the base has all functions, by self cost; all of the cost is in each path
g = Graph("inverted-svg")
base = g.rows()[0]
assert g.down == 1 and [f.cost for f in base] == [8385, 1000, 500, 100, 10, 5]
assert sum(f.cost for f in g.frames if f.name.startswith("thread")) == 10000

# A part: percentages are of all
g = Graph("select-svg")
assert [(f.name, f.cost, f.of_all) for f in g.rows()[0]] == [
    ("eval", 58000, 58.04), ("parse", 40001, 40.03)]

# Two traces: width is the sum of both, the colour is the change
g = Graph("diff-svg")
both = {n["node"]: n for n in objects("diff-json")}
shown = {f.name: f for f in g.frames if f.name not in ("parse", "small")}
for n in both.values():
    f = shown.get(n["function"])
    if f:
        change = n["inclusive"] - n["older_inclusive"]
        assert f.cost == n["inclusive"] and f.rest.startswith(
            ", before %d, difference %s" % (n["older_inclusive"], "%+d" % change if change else 0))
        assert f.fill.startswith("hsl(0,85" if change > 0 else "hsl(220,85" if change < 0
                                 else "hsl(0,0%,90"), (f.title, f.fill)
        scale = 1200 / (99006 + 84300)
        assert abs(f.width - (n["inclusive"] + n["older_inclusive"]) * scale) < 0.02
assert shown["gone"].cost == 0 and shown["gone"].fill == "hsl(220,85%,60%)"
legend = next(e for e in g.root.iter(NS + "g") if e.get("id") == "legend")
assert [t.text for t in legend.iter(NS + "text")] == ["gone", "half", "same", "twice", "new"]

# The script is the only one, and nothing comes from elsewhere
for kind in ("svg", "app-svg", "diff-svg"):
    text = open("graph." + kind).read()
    assert text.count("<script") == 1 and "href" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
