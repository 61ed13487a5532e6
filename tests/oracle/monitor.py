# SPDX-License-Identifier: MIT
"""QEMU's monitor, and machines that run while a test acts on them."""
import json
import os
import socket
import subprocess
import tempfile
import time

import common
from common import Failure
from switches import Control


class Monitor:
    """QEMU's monitor (QMP), at a socket."""
    resets = 0  # of the machine, seen so far

    def __init__(self, path, process):
        self.socket = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + common.PATIENCE
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise Failure("no monitor") from None
                time.sleep(0.1)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.call("qmp_capabilities")

    def read(self, key):
        while True:
            line = self.file.readline()
            if not line:
                raise Failure("the monitor has ended")
            answer = json.loads(line)
            self.resets += answer.get("event") == "RESET"
            if "error" in answer:
                raise Failure(str(answer["error"]))
            if key in answer:
                return answer

    def call(self, name, **arguments):
        arguments = {k.replace("_", "-"): v for k, v in arguments.items()}
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        return self.read("return")

    def wait(self, event):
        while self.read("event")["event"] != event:
            pass

    def human(self, line):
        return self.call("human-monitor-command", command_line=line)["return"]

    def job(self, name, **arguments):
        """A job, up to its end."""
        self.call(name, job_id=name, **arguments)
        end = time.monotonic() + common.PATIENCE
        while time.monotonic() < end:
            job = next(j for j in self.call("query-jobs")["return"] if j["id"] == name)
            if job["status"] == "concluded":
                self.call("job-dismiss", id=name)
                if "error" in job:
                    raise Failure("%s: %s" % (name, job["error"]))
                return
            time.sleep(0.02)
        raise Failure(name + " does not end")


class Running:
    """A machine that is recorded while a test acts on it.  with: it has ended afterwards."""

    def __init__(self, tools, trace, command, *options):
        self.trace = trace
        self.folder = tempfile.mkdtemp(dir=tools.work)
        self.errors = tempfile.TemporaryFile()
        common.remove(trace)
        path = os.path.join(self.folder, "qmp")
        pid = os.path.join(self.folder, "pid")
        self.recorder = subprocess.Popen(
            [tools.program("cannoli-record"), "-q", "--control", *options, "-o", trace, "--", *command,
             "-qmp", "unix:%s,server=on,wait=off" % path, "-pidfile", pid],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors)
        try:
            self.monitor = Monitor(path, self.recorder)
            self.control = Control(trace + ".ctl")
            with open(pid, encoding="ascii") as f:
                self.qemu = int(f.read())
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.recorder.poll() is None:
            self.recorder.terminate()
            self.recorder.wait()
        common.drop_folder(self.folder)

    def wait_for_file(self, least):
        """Until the trace has so many bytes."""
        end = time.monotonic() + common.PATIENCE
        while os.path.getsize(self.trace) < least:
            if time.monotonic() > end or self.recorder.poll() is not None:
                raise Failure("the trace does not grow")
            time.sleep(0.02)

    def end(self):
        """(status of the recorder, what it wrote)"""
        self.recorder.wait(timeout=common.PATIENCE)
        self.errors.seek(0)
        return common.status_of(self.recorder.returncode), self.errors.read().decode(errors="replace")

    def quit(self):
        self.monitor.call("quit")
        status, said = self.end()
        if status:
            raise Failure("status %d: %s" % (status, said[-300:]))
