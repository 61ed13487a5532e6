#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the benchmark suite's arithmetic and reports, on invented numbers."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True  # into the source tree

from suite import history, report_svg, report_text
from suite.children import BenchError, Children
from suite.stats import Spread, change, ratios, verdict


def spread(*values):
    return Spread.of(values).to_json()


def results(factor=1.0, commit="b" * 40, changed=False, date="2026-01-02T00:00:00Z"):
    """A run in which each of our times is `factor` times its usual value."""
    row = {name: spread(1.1 * factor, 1.2 * factor, 1.3 * factor)
           for name in ("jit", "file", "jit_cpu", "file_cpu")}
    row.update(set="mem", bits_per_instruction=spread(0.35),
               instructions_per_second=spread(5e8))
    peers = [{"peer": "execlog", "records": "mem", "instructions": 2000000,
              "file": spread(900.0), "bits_per_instruction": spread(400.0),
              "instructions_per_second": spread(1e6)},
             {"peer": "zstd -1 of raw", "records": "mem", "instructions": 10**8,
              "compress_cpu": spread(0.5), "raw_bits_per_instruction": 14.0,
              "bits_per_instruction": spread(1.5)}]
    plain = {"instructions": 10**9, "plain_seconds": spread(1.0),
             "plain_instructions_per_second": spread(1e9), "sets": [row],
             "failed_peers": []}
    return json.loads(json.dumps({
        "bench": 1, "runs": 3, "scale": 1, "missing": [],
        "about": {"date": date, "commit": commit, "changed": changed, "patch": "c" * 64,
                  "tree_patch": "e" * 64,
                  "machine": {"cpu": "CPU <&>", "cpus": 2, "memory_gib": 8, "system": "Linux 6"},
                  "versions": {"qemu": "10.0.2", "zstd": "1.5.4", "valgrind": "",
                               "compiler": "cc 12"}},
        "recording": [dict(plain, program="one <arm>", worst_case=False, peers=peers,
                           busy=spread(1.04, 1.25)),
                      dict(plain, program="two arm", worst_case=False, peers=[]),
                      dict(plain, program="nops", worst_case=True, peers=[])],
        "choices": [{"program": "one", "plain_seconds": spread(1.0),
                     "choices": [{"choice": "nothing", "file": spread(1.0, 1.01)}]}],
        "boots": [dict(plain, program="boot of a machine", worst_case=False, peers=[], choices=[
            {"choice": "nothing, default", "file": spread(1.07, 1.09)}])],
        "reading": [{"program": "one", "instructions": 10**9, "bytes": 10**7, "chunks": 99,
                     "events": "exec",
                     "rows": [{"what": "dump", "jobs": 2, "amount": 10**6, "peak_mib": 9,
                               "seconds": spread(0.5), "cpu_seconds": spread(0.9)}]}],
        "debugging": [{"program": "one", "instructions": 10**9, "bytes": 10**7, "chunks": 99,
                       "events": "exec",
                       "rows": [{"what": "gdb: attach", "seconds": spread(0.04), "peak_mib": 0,
                                 "note": ""}]}],
        "queries": [{"program": "one", "instructions": 10**9, "bytes": 10**7, "chunks": 99,
                    "events": "exec",
                    "rows": [{"what": "head", "seconds": spread(0.004), "peak_mib": 0,
                              "note": "10 lines"}]}],
    }))


class Statistics(unittest.TestCase):
    def test_spread(self):
        self.assertEqual(Spread.of([3, 1, 2]), Spread(2, 1, 3, 3))
        self.assertEqual(Spread.of([4, 1, 2, 3]), Spread(2.5, 1, 4, 4))
        self.assertEqual(Spread.of([5]), Spread(5, 5, 5, 1))
        self.assertEqual(Spread.from_json(spread(1, 2, 9)), Spread(2, 1, 9, 3))
        self.assertRaises(ValueError, Spread.of, [])

    def test_ratios_are_taken_within_a_round(self):
        # the machine became twice as slow: the ratio did not change
        self.assertEqual(ratios([2, 4, 8], [1, 2, 4]), Spread(2, 2, 2, 3))
        self.assertEqual(ratios([1, 3], [2, 2], factor=10), Spread(10, 5, 15, 2))
        self.assertRaises(ValueError, ratios, [1, 2], [1])

    def test_verdict(self):
        old = Spread.of([1.00, 1.10, 1.20])
        self.assertEqual(verdict(old, Spread.of([1.19, 1.30, 1.40])), "same")
        self.assertEqual(verdict(old, Spread.of([1.30, 1.40, 1.50])), "worse")
        self.assertEqual(verdict(old, Spread.of([0.80, 0.90, 0.95])), "better")
        less, more = Spread.of([0.80, 0.90, 0.95]), Spread.of([1.3, 1.4, 1.5])
        self.assertEqual(verdict(old, less, higher_is_better=True), "worse")
        self.assertEqual(verdict(old, more, higher_is_better=True), "better")
        self.assertEqual(verdict(old, old), "same")

    def test_verdict_allows_for_noise(self):
        self.assertEqual(verdict(Spread.of([1.0] * 3), Spread.of([1.02] * 3)), "same")
        self.assertEqual(verdict(Spread.of([1.0] * 3), Spread.of([1.05] * 3)), "worse")
        # times of two runs prove nothing, sizes do
        self.assertEqual(verdict(Spread.of([1.0] * 2), Spread.of([1.5] * 3)), "same")
        self.assertEqual(verdict(Spread.of([1.0]), Spread.of([1.02]), noise=0.01), "worse")
        self.assertEqual(verdict(Spread.of([0.0]), Spread.of([0.0])), "same")

    def test_change(self):
        self.assertAlmostEqual(change(Spread.of([2.0]), Spread.of([3.0])), 0.5)
        self.assertIsNone(change(Spread.of([0.0]), Spread.of([3.0])))


class Reports(unittest.TestCase):
    def test_text(self):
        text = "\n".join(report_text.everything(results()))
        for part in ("one <arm>", "a worst case", "median of 2", "execlog", "zstd -1 of raw",
                     "aim 2.00, 0.80 bits", "10 lines", "gdb: attach", "aim 1000", "scaled by instructions",
                     "boot of a machine", "nothing, default           1.080",
                     "median of 3 interleaved runs", "patch cccccccccccc (not the tree's)"):
            self.assertIn(part, text)

    def test_worst_cases_are_no_part_of_medians(self):
        run = results()
        run["recording"][2]["sets"][0]["file"] = spread(100.0)
        run["recording"][2]["busy"] = spread(2.0)
        self.assertAlmostEqual(report_text.medians(run["recording"])[0][2], 1.2)
        self.assertIn("1.15 to 1.15", "\n".join(report_text.everything(run)))

    def test_readme(self):
        text = "\n".join(report_text.readme(results()))
        self.assertIn("two arm", text)
        self.assertIn("median", text)
        self.assertIn("plain, busy", text)
        self.assertLess(max(map(len, text.splitlines())), 120)

    def test_svg(self):
        text = report_svg.draw(results())
        root = ElementTree.fromstring(text)
        said = {e.text for e in root.iter("{http://www.w3.org/2000/svg}text")}
        self.assertIn("one <arm>", said)
        self.assertIn("nops, a worst case", said)
        width = float(root.get("width"))
        for e in root.iter("{http://www.w3.org/2000/svg}rect"):
            self.assertLessEqual(float(e.get("x", 0)) + float(e.get("width")), width)

    def test_svg_of_nothing(self):
        ElementTree.fromstring(report_svg.draw({"about": results()["about"], "recording": []}))


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "deep", "history.jsonl")
        commits = ["d" * 40, "b" * 40, "a" * 40]
        git = mock.patch("suite.machine.git_lines", return_value=commits)
        git.start()
        self.addCleanup(git.stop)

    def test_kept_and_compared(self):
        history.append(self.path, results(commit="a" * 40))
        history.append(self.path, results(2.0, commit="b" * 40))
        entries = history.load(self.path)
        self.assertEqual(len(entries), 2)
        now = history.entry(results(1.0, commit="d" * 40))
        old = history.baseline(entries, now)
        self.assertEqual(old["commit"], "b" * 40)
        text = "\n".join(history.compare_lines(old, now))
        self.assertRegex(text, r"one <arm>/mem/file +2.4 +1.2 +-50.0%  better")
        self.assertIn("12 better, 0 worse, 7 within the noise", text)

    def test_what_is_compared_with(self):
        def run(**more):
            history.append(self.path, results(**more))
        run(commit="a" * 40, date="first")
        run(commit="a" * 40, date="second")
        run(commit="b" * 40, changed=True)
        run(commit="d" * 40, date="own")
        entries = history.load(self.path)
        # the nearest ancestor with a run without changes, and its newest run
        now = history.entry(results(commit="d" * 40))
        self.assertEqual(history.baseline(entries, now)["date"], "second")
        # a changed tree: with the changes
        now = history.entry(results(commit="d" * 40, changed=True))
        self.assertEqual(history.baseline(entries, now)["date"], "own")
        # another machine, other inputs: nothing to compare with
        for key, value in ("cpu", "other"), ("scale", 0.25):
            self.assertRaises(BenchError, history.baseline, entries, dict(now, **{key: value}))

    def test_another_build_in_the_same_rounds(self):
        run = results()
        for r in run["recording"]:
            r["base_sets"] = results(0.5)["recording"][0]["sets"]
        run["base"] = "/other/build"
        text = "\n".join(report_text.everything(run))
        self.assertIn("compared with /other/build, in the same rounds", text)
        self.assertRegex(text, r"two arm/mem/file +0.6 +1.2 +\+100.0%  worse")
        self.assertIn("0 better, 12 worse, 3 within the noise", text)

    def test_bad_files(self):
        self.assertEqual(history.load(self.path), [])
        os.makedirs(os.path.dirname(self.path))
        with open(self.path, "w", encoding="ascii") as f:
            f.write("{}\nnot json\n")
        self.assertRaises(BenchError, history.load, self.path)


class ChildrenTest(unittest.TestCase):
    def test_run(self):
        children = Children()
        run = children.run(["sh", "-c", "cat; echo more"], stdin=__file__, keep_output=True)
        self.assertTrue(run.output.endswith(b"more\n"))
        self.assertGreater(children.run(["sleep", "1"], watch=True).peak, 0)
        self.assertRaisesRegex(BenchError, "status 3: why", children.run,
                               ["sh", "-c", "echo why >&2; exit 3"])
        self.assertRaisesRegex(BenchError, "No such file", children.run, ["/no/such/program"])

    def test_run_beside(self):
        with tempfile.TemporaryDirectory() as tmp:
            pid = os.path.join(tmp, "pid")
            until = "for i in $(seq 30000); do [ -s %s ] && exit; sleep 0.01; done; exit 1" % pid
            Children().run_beside(["sh", "-c", "echo $$ >%s; sleep 600" % pid],
                                  ["sh", "-c", until])
            self.assertRaisesRegex(BenchError, "true: it ended", Children().run_beside,
                                   ["true"], ["sleep", "3"])
            with open(pid, encoding="ascii") as f:
                self.assertFalse(running(f.read().strip()))

    def test_first_lines(self):
        children = Children()
        children.first_lines(["sh", "-c", "echo 1; echo 2; echo 3"], 2)
        children.first_lines(["true"], 2)

    def test_a_signal_ends_all_that_was_started(self):
        with tempfile.TemporaryDirectory() as tmp:
            pids = os.path.join(tmp, "pids")
            # a child and a grandchild that ignore SIGTERM
            inner = "trap '' TERM; sleep 600 & echo $$ $! >%s; wait; wait" % pids
            code = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                    "from suite.children import Children, Interrupted\n"
                    "c = Children(); c.catch_signals()\n"
                    "try:\n    c.run(['sh', '-c', sys.argv[2]])\n"
                    "except Interrupted as e:\n    sys.exit(128 + e.signum)\n")
            bench = subprocess.Popen([sys.executable, "-c", code, HERE, inner])
            while not os.path.exists(pids) or not os.path.getsize(pids):
                time.sleep(0.01)
            bench.send_signal(signal.SIGINT)
            self.assertEqual(bench.wait(), 130)
            with open(pids, encoding="ascii") as f:
                for pid in f.read().split():
                    self.assertFalse(running(pid), pid)


def running(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
