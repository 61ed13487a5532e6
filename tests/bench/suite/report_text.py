# SPDX-License-Identifier: MIT
"""The results as text tables."""
from statistics import median

from . import history, machine

# Aims, as upper limits: the file's time divided by that of an unrecorded run, bits an instruction
AIMS = {"exec": (1.10, 0.25), "mem": (2.0, 0.8), "val": (3.0, 3.0)}
# Million instructions a second of a core, milliseconds
SPEED_AIMS = {"encoder alone, exec,mem": 300, "replay, run-counts": 500, "dump, text": 15}
ANSWER_AIMS = {"tracedump | head": 100, "any place: --from N -n 1": 50,
               "any place: --state N": 50, "any time: --from-time T | head -n 1": 50,
               "cursor, seek to ordinal": 50, "cursor, seek to time": 50,
               "gdb: attach": 1000, "gdb: 1,000 steps": 1000, "gdb: reverse-stepi": 50,
               "gdb: reverse-continue to a breakpoint": 200}
CHOICE_AIMS = {"nothing": 1.02, "paused": 1.02, "cold": 1.02, "coverage": 1.10}

HEAD = "%-18s %7s %7s %13s %7s %10s %9s" % ("program, events", "jit", "file", "least-most", "cpu",
                                           "bits/insn", "Minsn/s")


def med(o):
    return o["median"]


def bits(b):
    """Three significant digits, but at most four decimals."""
    return "%.0f" % b if b >= 100 else "%.1f" % b if b >= 10 else "%.4f" % b if b < 0.01 else (
        "%.3f" % b)


def span(o):
    return "%.2f-%.2f" % (o["min"], o["max"])


def mega(o):
    m = med(o) / 1e6
    return "%.1f" % m if m < 10 else "%.0f" % m


def program_lines(result):
    """The table of one program."""
    yield "%-18s %.0f Minsn, plain %.2f s, %s Minsn/s%s" % (
        result["program"], result["instructions"] / 1e6, med(result["plain_seconds"]),
        mega(result["plain_instructions_per_second"]),
        "; a worst case" if result["worst_case"] else "")
    if "busy" in result:
        yield "  %-16s %7s %7.2f %13s" % ("plain, busy", "", med(result["busy"]), span(
            result["busy"]))
    for row in result["sets"]:
        yield "  %-16s %7.2f %7.2f %13s %7.2f %10s %9s" % (
            row["set"], med(row["jit"]), med(row["file"]),
            span(row["file"]), med(row["file_cpu"]),
            bits(med(row["bits_per_instruction"])), mega(row["instructions_per_second"]))
    for peer in result["peers"]:
        if "file" in peer:
            f = peer["file"]
            yield "  %-16s %7s %7.0f %13s %7s %10s %9s" % (
                peer["peer"], "", med(f), "%.0f-%.0f" % (f["min"], f["max"]), "",
                bits(med(peer["bits_per_instruction"])), mega(peer["instructions_per_second"]))
        else:
            yield "  %-16s %7s %7s %13s %7s %10s" % (
                peer["peer"], "", "", "", "+%.2f" % med(peer["compress_cpu"]),
                bits(med(peer["bits_per_instruction"])))
    for line in result["failed_peers"]:
        yield "  " + line


def medians(results):
    """[(set, jit, file, file_cpu, bits)] over the programs that do ordinary work."""
    real = [r for r in results if not r["worst_case"]]
    names = [row["set"] for row in real[0]["sets"]] if real else []
    table = []
    for i, name in enumerate(names):
        rows = [r["sets"][i] for r in real]
        table.append((name,) + tuple(median(med(row[what]) for row in rows) for what in
                                     ("jit", "file", "file_cpu", "bits_per_instruction")))
    return table


def busy_lines(head, results):
    """The cost of another process that only computes, on another processor."""
    found = [med(r["busy"]) for r in results if "busy" in r and not r["worst_case"]]
    if found:
        yield head % ("plain, busy", "") + " %7.2f  (%.2f to %.2f: another process computes)" % (
            median(found), min(found), max(found))


def median_lines(results):
    real = [r["program"] for r in results if not r["worst_case"]]
    if len(real) < 2:
        return
    yield "median of %d" % len(real)
    yield from busy_lines("  %-16s %7s", results)
    for name, jit, file, cpu, size in medians(results):
        aim = "aim %.2f, %.2f bits" % AIMS[name] if name in AIMS else ""
        yield "  %-16s %7.2f %7.2f %13s %7.2f %10s  %s" % (name, jit, file, "", cpu, bits(size),
                                                           aim)


def peer_note(results):
    """The meaning of the peers' rows, if there are any."""
    peers = [p for r in results for p in r["peers"]]
    shortened = [p["instructions"] for p in peers if "file" in p]
    if shortened:
        yield ("Peers ran shortened inputs (%.1f to %.1f Minsn); their times are scaled by "
               "instructions." % (min(shortened) / 1e6, max(shortened) / 1e6))
    raw = [p["raw_bits_per_instruction"] for p in peers if "compress_cpu" in p]
    if raw:
        yield ("zstd: the raw stream of exec,mem (%.1f to %.1f bits an instruction), "
               "compressed by one thread; +CPU time beyond recording." % (min(raw), max(raw)))


CHOICE_HEAD = "%-18s %15s %13s" % ("program, chosen", "file", "least-most")


def choice_rows(result):
    for row in result["choices"]:
        yield ("  %-16s %15.3f %13s  %s" % (
            row["choice"], med(row["file"]), "%.3f-%.3f" % (row["file"]["min"], row["file"]["max"]),
            "aim %.2f" % CHOICE_AIMS[row["choice"]] if row["choice"] in CHOICE_AIMS else "")).rstrip()


def choice_lines(result):
    """A program recorded in part."""
    yield "%-18s plain %.2f s" % (result["program"], med(result["plain_seconds"]))
    yield from choice_rows(result)


def boot_lines(result):
    """A machine, recorded whole and in part."""
    yield from program_lines(result)
    yield from choice_rows(result)


READ_HEAD = "%-28s %5s %9s %15s %8s %8s %6s" % ("reading", "jobs", "s", "least-most", "M/s",
                                               "per core", "MiB")
ENCODE_HEAD = READ_HEAD.replace("reading ", "encoding")


def trace_line(result):
    return "%-18s %.0f Minsn, %.1f MiB in %d chunks, %s" % (
        result["program"], result["instructions"] / 1e6, result["bytes"] / 2**20,
        result["chunks"], result["events"])


def reading_lines(result):
    """How fast one trace is read, or made."""
    yield trace_line(result)
    for row in result["rows"]:
        s, mega_insns = row["seconds"], row["amount"] / 1e6
        aim = "  aim %d" % SPEED_AIMS[row["what"]] if row["what"] in SPEED_AIMS else ""
        yield "  %-26s %5s %9.3f %15s %8.1f %8s %6s%s" % (
            row["what"], row["jobs"], med(s), "%.3f-%.3f" % (s["min"], s["max"]),
            mega_insns / med(s), per_core(mega_insns, med(row["cpu_seconds"])),
            "%.0f" % row["peak_mib"] if row["peak_mib"] else "", aim)


def per_core(amount, seconds):
    """By CPU time, which may be too small to measure in a run of a few milliseconds."""
    return "%.1f" % (amount / seconds) if seconds >= 0.01 else ""


ANSWER_HEAD = "%-44s %9s %15s %5s" % ("queries", "ms", "least-most", "MiB")


def answer_lines(result):
    """The times of answers to queries, and their memory."""
    yield trace_line(result)
    for row in result["rows"]:
        s = row["seconds"]
        notes = [row["note"]] if row["note"] else []
        if row["what"] in ANSWER_AIMS:
            notes.append("aim %d" % ANSWER_AIMS[row["what"]])
        yield ("  %-42s %9.1f %15s %5s %s" % (
            row["what"], 1e3 * med(s), "%.1f-%.1f" % (1e3 * s["min"], 1e3 * s["max"]),
            "%.0f" % row["peak_mib"] if row["peak_mib"] else "", ", ".join(notes))).rstrip()


def foot(results):
    """The conditions of all results."""
    yield from machine.lines(results["about"])
    scaled = ", inputs scaled by %g" % results["scale"] if results["scale"] != 1 else ""
    yield "median of %d interleaved run%s%s" % (results["runs"], "s"[:results["runs"] > 1], scaled)


# For each part: the head of its table, and the lines of one program
TABLES = {
    "recording": (HEAD, program_lines),
    "encoding": (ENCODE_HEAD, reading_lines),
    "reading": (READ_HEAD, reading_lines),
    "queries": (ANSWER_HEAD, answer_lines),
    "debugging": (ANSWER_HEAD.replace("queries  ", "debugging"), answer_lines),
    "choices": (CHOICE_HEAD, choice_lines),
    "boots": (HEAD.replace("program,", "machine,"), boot_lines),
}


def summary(part, results):
    """The lines under the table of a part."""
    if part == "recording":
        yield from median_lines(results[part])
        yield from peer_note(results[part])


def everything(results):
    """All lines of a run, from its JSON."""
    for part in results:
        if part in TABLES:
            head, lines = TABLES[part]
            yield head
            for result in results[part]:
                yield from lines(result)
            yield from summary(part, results)
    if "base" in results:
        yield from history.base_lines(results)
    yield from foot(results)


def readme(results):
    """The README's table: a line per program, ratio and bits of each set side by side."""
    recording = results["recording"]
    real = [r for r in recording if not r["worst_case"]]
    names = [row["set"] for row in real[0]["sets"]]
    yield "%-17s %7s" % ("", "plain") + "".join("  %15s" % name for name in names)
    yield "%-17s %7s" % ("", "Minsn/s") + "".join("  %7s %7s" % ("time", "bits") for _ in names)

    def cells(pairs):
        return "".join("  %7.2f %7s" % (t, bits(b)) for t, b in pairs)
    for r in real:
        yield "%-17s %7s" % (r["program"], mega(r["plain_instructions_per_second"])) + cells(
            (med(row["file"]), med(row["bits_per_instruction"])) for row in r["sets"])
    if len(real) > 1:
        yield "%-17s %7s" % ("median", "") + cells(
            (file, size) for _, _, file, _, size in medians(real))
    yield from busy_lines("%-17s %7s ", recording)
    if all(name in AIMS for name in names):
        yield "%-17s %7s" % ("aim", "") + cells(AIMS[name] for name in names)
    for r in recording:
        if r["worst_case"]:
            row = r["sets"]
            yield "%-17s %7s" % (r["program"], mega(r["plain_instructions_per_second"])) + "".join(
                next(("  %7.2f %7s" % (med(x["file"]), bits(med(x["bits_per_instruction"])))
                      for x in row if x["set"] == name), " " * 17) for name in names)
    for name in dict.fromkeys(p["peer"] for r in real for p in r["peers"]):
        found = [p for r in real for p in r["peers"] if p["peer"] == name]
        times = [med(p["file"]) for p in found if "file" in p]
        sizes = [med(p["bits_per_instruction"]) for p in found]
        yield "%-17s %7s%s  %7s %7s  (%s)" % (
            name, "", " " * 17 * names.index(found[0]["records"])
            if found[0]["records"] in names else "", "%.0f" % median(times) if times else "",
            bits(median(sizes)), "median of %d" % len(found) if len(found) > 1 else "one program")
    yield from foot(results)
