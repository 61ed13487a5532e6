# SPDX-License-Identifier: MIT
"""For gdb, connected to tracegdb: the frames at the ordinals of PLACES, one JSON array a line to
the file OUT: pairs of pc and whether it is a signal's, and at the end null if gdb failed to
find the next one."""
import json
import os

import gdb

with open(os.environ["OUT"], "w", encoding="utf-8") as out:
    for place in os.environ["PLACES"].split():
        gdb.execute("monitor goto " + place, to_string=True)
        for cache in ("register-cache", "dcache"):
            gdb.execute("maintenance flush " + cache, to_string=True)
        frames = []
        try:
            frame = gdb.newest_frame()
            while frame is not None and len(frames) < 100:
                if frame.type() != gdb.TAILCALL_FRAME:  # which is on no stack
                    frames.append((frame.pc(), frame.type() == gdb.SIGTRAMP_FRAME))
                frame = frame.older()
        except gdb.error:
            frames.append(None)
        print(json.dumps(frames), file=out)
