# SPDX-License-Identifier: MIT
"""Earlier results, one JSON object a line, and the changes since.

An entry holds the spread of each figure under a name such as
"mixed arm/mem/file".  Two entries are compared only if they have the same kind of
machine and the same inputs.
"""
import json
import os

from . import machine
from .children import BenchError
from .stats import SIZE_NOISE, TIME_NOISE, Spread, change, verdict

# Figures of a row that are kept: (name, noise, whether larger is better)
KEPT = {
    "jit": (TIME_NOISE, False),
    "file": (TIME_NOISE, False),
    "jit_cpu": (TIME_NOISE, False),
    "file_cpu": (TIME_NOISE, False),
    "bits_per_instruction": (SIZE_NOISE, False),
    "seconds": (TIME_NOISE, False),
}
ANCESTORS = 200


def recording_figures(results, sets="sets"):
    """{name: spread as JSON}; times of unrecorded runs are not ours and are left out."""
    return {"%s/%s/%s" % (r["program"], row["set"], what): row[what]
            for r in results.get("recording", []) for row in r.get(sets, [])
            for what in ("jit", "file", "jit_cpu", "file_cpu", "bits_per_instruction")}


def figures(results):
    """The figures of all parts of a run."""
    found = recording_figures(results)
    for r in results.get("choices", []):
        for row in r["choices"]:
            found["%s/%s/file" % (r["program"], row["choice"])] = row["file"]
    for part in ("encoding", "reading", "queries", "debugging"):
        for r in results.get(part, []):
            for row in r["rows"]:
                jobs = ", %d jobs" % row["jobs"] if row.get("jobs") else ""
                found["%s/%s%s/seconds" % (r["program"], row["what"], jobs)] = row["seconds"]
    return found


def entry(results):
    about = results["about"]
    return {"date": about["date"], "commit": about["commit"], "changed": about["changed"],
            "patch": about["patch"], "cpu": about["machine"]["cpu"],
            "cpus": about["machine"]["cpus"], "versions": about["versions"],
            "runs": results["runs"], "scale": results["scale"], "figures": figures(results)}


def append(path, results):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "a", encoding="utf-8") as f:
        f.write(json.dumps(entry(results), sort_keys=True) + "\n")


def load(path):
    """Entries in the order written; none if the file does not exist."""
    try:
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.strip()]
    except FileNotFoundError:
        return []
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise BenchError("%s: not a history: %s" % (path, e)) from e


def comparable(a, b):
    return all(a[key] == b[key] for key in ("cpu", "cpus", "scale"))


def resolve(name):
    """The full name of a commit."""
    commit = machine.git("rev-parse", "--verify", "--quiet", name + "^{commit}")
    if not commit:
        raise BenchError("no commit '%s'" % name)
    return commit


def lineage(now):
    """Commits to compare with, nearest first: the one that was changed, then its parents."""
    listed = machine.git_lines("rev-list", "--first-parent", "--max-count=%d" % ANCESTORS,
                               now["commit"])
    return listed if now["changed"] else listed[1:]


def baseline(entries, now, wanted=None):
    """The entry to compare `now` with: the newest of the commit `wanted`, or else of the
    nearest ancestor that has one.  Raises BenchError if there is none."""
    commits = [resolve(wanted)] if wanted else lineage(now)
    usable = [e for e in entries if e is not now and not e["changed"] and comparable(e, now)]
    for commit in commits:
        for e in reversed(usable):
            if e["commit"] == commit:
                return e
    raise BenchError("no run of %s on this machine with these inputs is in the history: "
                     "check it out, build it, and run bench.py there with the same --history" %
                     (wanted or "an ancestor of " + now["commit"][:12]))


def compare_lines(old, now):
    """The changes since an entry, after a line that names it."""
    yield "compared with %s, patch %s, of %s (%d runs; now %d)" % (
        old["commit"][:12], old["patch"][:12], old["date"], old["runs"], now["runs"])
    yield from change_lines(old["figures"], now["figures"])


def base_lines(results):
    """The differences between this build and the other one of the same rounds."""
    yield "compared with %s, in the same rounds" % results["base"]
    yield from change_lines(recording_figures(results, "base_sets"), recording_figures(results))


def change_lines(old, now):
    """A line for each figure that both have, then counts."""
    both = [name for name in now if name in old]
    counts = {"better": 0, "worse": 0, "same": 0}
    yield "%-44s %9s %9s %8s" % ("", "then", "now", "change")
    for name in both:
        a, b = (Spread.from_json(figures_of[name]) for figures_of in (old, now))
        noise, higher = KEPT[name.rsplit("/", 1)[1]]
        said = verdict(a, b, noise, higher)
        counts[said] += 1
        by = change(a, b)
        yield "%-44s %9.4g %9.4g %8s  %s" % (name, a.median, b.median,
                                             "%+.1f%%" % (100 * by) if by is not None else "",
                                             "" if said == "same" else said)
    yield "%d better, %d worse, %d within the noise" % (counts["better"], counts["worse"],
                                                       counts["same"])
