# SPDX-License-Identifier: MIT
"""Threads under two interval timers, a child that is another interpreter, an alarm."""
import signal
import subprocess
import sys
import threading

ticks = 0
alarms = 0


def on_tick(number, frame):
    global ticks
    ticks += 1


def on_alarm(number, frame):
    global alarms
    alarms += 1


def work(which, out):
    total = 0
    for i in range(3000):
        total += i * which % 7
        if i % 500 == 0:
            with lock:
                out.append((which, i))
    with lock:
        out.append((which, total))


lock = threading.Lock()
signal.signal(signal.SIGVTALRM, on_tick)
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.001, 0.001)
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
out = []
threads = [threading.Thread(target=work, args=(n, out)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
while not ticks or not alarms:
    sum(range(1000))
child = subprocess.run([sys.executable, "-I", "-S", "-c", "print(6 * 7)"], stdout=subprocess.PIPE)
signal.setitimer(signal.ITIMER_REAL, 0)
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
signal.alarm(1)
signal.pause()
print("ticks", ticks, "alarms", alarms)
print(sorted(out)[-1], child.stdout, child.returncode)
