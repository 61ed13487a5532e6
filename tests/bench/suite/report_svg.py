# SPDX-License-Identifier: MIT
"""Speed and size of recording as a picture: two panels of horizontal bars that share
their rows.

Both scales are logarithmic, because peers differ by factors of hundreds; gridlines are
decades.  The figure of each bar is in a column at its panel's right, where it
overlaps nothing.  Colours come from style rules that follow the viewer's light or dark
scheme, and also differ in lightness.
"""
import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

from . import machine
from .report_text import AIMS, bits, med, medians, mega

ROW, BAR, GAP = 15, 9, 13
TOP, BOTTOM = 104, 80
LABEL, PANEL, VALUE, BETWEEN, RIGHT = 214, 270, 60, 22, 14
RATIO = 56

STYLE = """
  .page { fill: #ffffff } text { fill: #1f2328; font: 11px sans-serif }
  .title { font-size: 15px; font-weight: bold } .head { font-weight: bold }
  .soft { fill: #59636e } .end { text-anchor: end } .mid { text-anchor: middle }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .axis { stroke: #818b98; stroke-width: 1 }
  .aim { stroke: #cf222e; stroke-width: 2.5 }
  .plain { fill: #afb8c1 } .peer { fill: #818b98 }
  .s0 { fill: #0a3069 } .s1 { fill: #218bff } .s2 { fill: #e3872d }
  .s3 { fill: #8250df } .s4 { fill: #1a7f37 } .s5 { fill: #bf3989 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 } .soft { fill: #9198a1 }
    .grid { stroke: #2a313c } .axis { stroke: #656c76 }
    .aim { stroke: #ff7b72 }
    .plain { fill: #484f58 } .peer { fill: #6e7681 }
    .s0 { fill: #a5d6ff } .s1 { fill: #388bfd } .s2 { fill: #f0a45d }
    .s3 { fill: #bc8cff } .s4 { fill: #56d364 } .s5 { fill: #f778ba }
  }
"""
COLOURS = 6
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>Recording programs: instructions a second and bits an instruction</title>
<style>%s</style>
%s
</svg>
"""


class Scale:
    """A logarithmic axis from x on, over whole decades around all values that are at
    least `least`; smaller values have the shortest bar."""

    def __init__(self, x, values, least):
        values = [max(v, least) for v in values] or [least]
        self.x = x
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(self.low + 1, math.ceil(math.log10(max(values)) - 1e-9))

    def at(self, value):
        if value <= 0:
            return self.x
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.x + PANEL * min(1, max(0, part))

    def decades(self):
        return range(self.low, self.high + 1)


class Canvas:
    def __init__(self):
        self.parts = []

    def add(self, text, *values):
        self.parts.append(text % values)

    def text(self, x, y, text, kind=""):
        self.add('<text x="%.1f" y="%.1f" class="%s">%s</text>', x, y, kind, escape(text))

    def line(self, x1, y1, x2, y2, kind):
        self.add('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>', x1, y1, x2, y2,
                 kind)

    def bar(self, scale, y, value, kind, tip):
        self.add('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="%s">'
                 '<title>%s</title></rect>',
                 scale.x, y + (ROW - BAR) / 2, max(1.5, scale.at(value) - scale.x), BAR, kind,
                 escape(tip))


@dataclass(frozen=True)
class Row:
    """A bar in each panel: instructions a second (and its time divided by that of an
    unrecorded run, as text), bits an instruction, and the aim."""
    label: str
    kind: str
    speed: float
    ratio: str = ""
    size: float = None
    speed_aim: float = None
    size_aim: float = None


def rows_of(result, colours):
    """The row of a program; a missing figure is None."""
    plain = med(result["plain_instructions_per_second"])
    rows = [Row("plain QEMU", "plain", plain)]
    for row in result["sets"]:
        aim = AIMS.get(row["set"]) if not result["worst_case"] else None
        file = med(row["file"])
        rows.append(Row(row["set"], colours[row["set"]], plain / file, "%.2f" % file,
                        med(row["bits_per_instruction"]), aim and plain / aim[0], aim and aim[1]))
    for peer in result["peers"]:
        file = med(peer["file"]) if "file" in peer else None
        rows.append(Row("%s (%s)" % (peer["peer"], peer["records"]), "peer", file and plain / file,
                        "%.0f" % file if file else "", med(peer["bits_per_instruction"])))
    return rows


def legend(canvas, names, colours, right):
    x = 14
    items = [("plain", "plain QEMU, not recording")] + [(colours[n], n) for n in names]
    items += [("peer", "other recorders, zstd alone")]
    for kind, label in items:
        canvas.add('<rect x="%d" y="38" width="11" height="11" class="%s"/>', x, kind)
        canvas.text(x + 16, 48, label)
        x += 36 + round(5.6 * len(label))
    canvas.line(x + 4, 37, x + 4, 50, "aim")
    canvas.text(x + 12, 48, "aim")
    canvas.text(right, 48, "recorded to a file; medians", "soft end")


def axis(canvas, scale, title, unit, columns, bottom):
    """columns: [(x of the right end, name of the figures there)]"""
    canvas.text(scale.x, TOP - 34, title, "head")
    for x, head in columns:
        canvas.text(x, TOP - 12, head, "end soft")
    for decade in scale.decades():
        x = scale.at(10.0 ** decade)
        canvas.line(x, TOP - 4, x, bottom, "grid")
        number = 10.0 ** decade / unit
        label = "%g" % number if 0.0001 <= number < 1e5 else "1e%d" % round(math.log10(number))
        canvas.text(x, bottom + 14, label, "mid soft")
    canvas.line(scale.x, TOP - 4, scale.x, bottom, "axis")
    canvas.line(scale.x, bottom, scale.x + PANEL, bottom, "axis")


def figure(canvas, scale, y, row, value, aim, text, tip):
    """One bar, its number, and the mark of the aim."""
    if value is None:
        return
    canvas.bar(scale, y, value, row.kind, tip)
    canvas.text(scale.x + PANEL + VALUE - 8, y + ROW - 4, text, "end")
    if aim:
        canvas.line(scale.at(aim), y + 1, scale.at(aim), y + ROW - 1, "aim")


def draw(results):
    """The whole file."""
    recording = results.get("recording", [])
    names = list(dict.fromkeys(row["set"] for r in recording for row in r["sets"]))
    colours = {name: "s%d" % (i % COLOURS) for i, name in enumerate(names)}
    blocks = [(r, rows_of(r, colours)) for r in recording]
    flat = [row for _, rows in blocks for row in rows]
    height = TOP + sum(GAP + ROW * (len(rows) + 1) for _, rows in blocks) + BOTTOM
    width = LABEL + 2 * (PANEL + VALUE) + RATIO + BETWEEN + RIGHT
    bottom = height - BOTTOM
    speed = Scale(LABEL, [x for r in flat for x in (r.speed, r.speed_aim) if x], 1e4)
    size = Scale(LABEL + PANEL + VALUE + RATIO + BETWEEN,
                 [x for r in flat for x in (r.size, r.size_aim) if x], 1e-3)
    speed_end = speed.x + PANEL + VALUE - 8
    canvas = Canvas()
    canvas.add('<rect width="%d" height="%d" class="page"/>', width, height)
    canvas.text(14, 24, "Recording programs: speed and size", "title")
    legend(canvas, names, colours, width - RIGHT)
    axis(canvas, speed, "Speed, million instructions a second (log scale), longer is faster", 1e6,
         [(speed_end, "M/s"), (speed_end + RATIO, "x plain")], bottom)
    axis(canvas, size, "Size, bits an instruction (log scale), shorter is smaller", 1,
         [(size.x + PANEL + VALUE - 8, "bits")], bottom)
    y = TOP
    for result, rows in blocks:
        canvas.text(14, y + ROW - 3, "%s%s" % (
            result["program"], ", a worst case" if result["worst_case"] else ""), "head")
        y += ROW
        for row in rows:
            tip = "%s, %s" % (result["program"], row.label)
            canvas.text(LABEL - 10, y + ROW - 4, row.label, "end")
            figure(canvas, speed, y, row, row.speed, row.speed_aim,
                   row.speed and mega({"median": row.speed}), tip)
            canvas.text(speed_end + RATIO, y + ROW - 4, row.ratio, "end")
            figure(canvas, size, y, row, row.size, row.size_aim,
                   row.size is not None and bits(row.size), tip)
            y += ROW
        y += GAP
    said = ", ".join("%s %.2f times plain's time, %s bits" % (name, file, bits(small))
                     for name, _, file, _, small in medians(recording))
    if said:
        canvas.text(14, height - 43, "Medians of the ordinary programs: " + said)
    for i, line in enumerate(machine.lines(results["about"])):
        canvas.text(14, height - 27 + 15 * i, line, "soft")
    return HEAD % (width, height, width, height, STYLE, "\n".join(canvas.parts))
