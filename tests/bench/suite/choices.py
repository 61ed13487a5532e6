# SPDX-License-Identifier: MIT
"""What recording a part costs: everything, all of it paused, one function that runs
sometimes, each block once; with the trace written to a file."""
from .stats import Spread, ratios

# {cold}: a function of the program that runs sometimes
CHOICES = {
    "nothing": ["--range", "0-1"],
    "paused": ["--paused"],
    "cold": ["--function", "{cold}"],
    "coverage": ["--coverage"],
}


def measure(context, program, wanted=None):
    """Results for one program, ready for JSON.  wanted: other choices."""
    command = program.make(context.scale)
    modes = {"plain": [context.qemu(program)] + command.argv}
    for choice, options in (wanted or CHOICES).items():
        if program.cold or choice != "cold":
            options = [o.format(cold=program.cold) for o in options]
            modes[choice] = context.recorder(program, command, "-o", context.trace, *options)
    wall = {mode: [] for mode in modes}
    for _ in range(context.runs):
        for mode, line in modes.items():
            context.remove_trace()
            wall[mode].append(context.children.run(line, stdin=command.stdin).wall)
    plain = wall.pop("plain")
    return {"program": program.name, "plain_seconds": Spread.of(plain).to_json(),
            "times": {"plain": plain, **wall},
            "choices": [{"choice": choice, "file": ratios(times, plain).to_json()}
                        for choice, times in wall.items()]}
