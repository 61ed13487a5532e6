# SPDX-License-Identifier: MIT
"""Commands for gdb on tests/guests/debugged.c, chosen by a seed: the same for all targets.

They look at registers, memory, variables, frames, code and symbols, and go on in all ways.
None writes, and none steps over a system call.
"""
import random

FUNCTIONS = ["next_number", "insert", "make_list", "sum_list", "ways", "by_value", "by_table",
             "mean", "spell", "mix", "work"]
OFTEN = ["insert", "sum_list", "ways", "mean", "spell", "mix", "work", "make_list"]
GLOBALS = ["pool", "list", "counts", "table", "average", "total", "rounds", "text", "names",
           "choices", "heap", "pool[3]", "*list", "list->next", "*list->next", "list->name",
           "list->value.real", "pool[7].colour", "counts[2]", "table[1]", "text[1]", "names[4]",
           "*heap@32", "heap[5]", "&pool[5]", "choices[1]", "*choices[0]", "pool[1].value"]
EXPRESSIONS = ["rounds * 3 + 1", "(float) total / 7", "average > 3.0", "sizeof(struct node)",
               "&list->key", "(char) text[0]", "list->key < pool[4].key", "counts[0]@3",
               "(enum colour) 2", "RED + 1", "names[1][2]", "&*\"debugged\"[0] == 0",
               "/x total", "/t rounds", "/c heap[3]", "/o counts[1]", "/d $sp", "/a choices[0]",
               "/x pool[2].value", "/z rounds", "/x table", "/s text", "$_", "$__", "/x $pc", "/x $sp",
               "$_exitcode", "$bpnum", "list->next->next->name"]
FORMATS = ["x", "d", "u", "o", "t", "a", "c", "s", "i"]
PLACES = ["&pool", "&counts", "&table", "&text", "names", "heap", "list", "&average", "&total",
          "work", "insert + 8", "&choices", "$sp", "$sp", "$pc", "names[4]"]
WATCHES = ["rounds", "total", "average", "text[0]", "counts[2]", "list", "table[1][1]",
           "-l pool[5].key", "heap[33]", "pool[2].name[0]"]
CONDITIONS = {"insert": "fresh->key > 0", "sum_list": "rounds % 2 == 1", "ways": "columns == 2",
              "mean": "rounds > 3", "spell": "number % 2 == 0", "mix": "a > 20", "work": "rounds & 1",
              "make_list": "total != 0"}


def memory(rng):
    letter = rng.choice(FORMATS)
    size = rng.choice("bhw") if letter in "xduot" else ""
    place = rng.choice([p for p in PLACES if p not in ("work", "insert + 8", "$pc")])
    if letter == "i":
        place = rng.choice(["$pc", "work", "insert", "mean", "$pc"])
    elif letter == "s":
        place = rng.choice(["text", "list->name", "names[0]", "pool[3].name", "names[3]"])
    elif letter == "a":
        place = rng.choice(["$sp", "&choices", "names", "&list"])
    return "x/%d%s%s %s" % (rng.randrange(1, 9), letter, size, place)


def static(rng):
    function = rng.choice(FUNCTIONS)
    return rng.choice(["info symbol " + function, "info symbol $pc", "info line " + function,
                       "info address " + rng.choice(["rounds", "pool", function]),
                       "list %s" % function, "list", "info scope " + function,
                       "ptype struct node", "whatis " + rng.choice(GLOBALS), "ptype choices",
                       "info symbol &text", "info line *$pc", "disassemble " + function,
                       "disassemble", "disassemble /s $pc, +12", "disassemble /r $pc, +16"])


def frames(rng):
    return rng.choice(["backtrace", "backtrace 2", "backtrace -1", "bt full 1", "info frame",
                       "info args", "info locals", "up", "down", "frame 0", "frame",
                       "info source", "frame function main"])


def look(rng):
    kind = rng.randrange(10)
    if kind < 3:
        return "print " + rng.choice(GLOBALS)
    if kind < 4:
        text = rng.choice(EXPRESSIONS)
        return "print" + ("" if text[0] == "/" else " ") + text
    if kind < 6:
        return memory(rng)
    if kind < 7:
        return rng.choice(["registers", "info registers float", "info registers pc sp"])
    if kind < 8:
        return static(rng)
    if kind < 9:
        return frames(rng)
    return rng.choice(["info breakpoints", "display/i $pc", "display rounds", "display/x total",
                       "undisplay", "info display", "info program",
                       'printf "%d %s %c\\n", rounds, text, heap[1]', "print $_thread",
                       "set $kept = total", "print $kept", "info watchpoints", "info signals SIGSEGV",
                       "echo here\\n"])


def go(rng):
    return rng.choice(["stepi", "stepi 3", "nexti", "stepi 40", "step", "step", "step 3", "next", "next",
                       "next 2", "finish", "until", "continue", "continue", "continue 2",
                       "advance " + rng.choice(OFTEN), "nexti 5", "finish"])


def points(rng):
    """One more breakpoint or watchpoint, and on to it."""
    function = rng.choice(OFTEN)
    kind = rng.randrange(6)
    if kind == 0:
        return ["break %s if %s" % (function, CONDITIONS[function]), "continue"]
    if kind == 1:
        return ["break " + function, "condition $bpnum " + CONDITIONS[function], "continue"]
    if kind == 2:
        return ["break " + function, "ignore $bpnum %d" % rng.randrange(2, 5), "continue"]
    if kind == 3:
        return ["tbreak " + function, "continue"]
    if kind == 4:
        return ["watch " + rng.choice(WATCHES), "continue", "delete $bpnum"]
    return ["hbreak *" + function, "continue"]


def script(seed, n, registers):
    """n commands; `registers' are those of the target.  There is always a breakpoint that the
    program meets in each round."""
    rng = random.Random(seed)
    out = ["break main", "continue", "next 3", "delete", "break work"]
    more = 0
    while len(out) < n - 1:
        if more == 3:
            out += ["delete", "undisplay", "break work"]
            more = 0
        if more == 0 or rng.random() < 0.25:
            out += points(rng)
            more += 1
        for _ in range(rng.randrange(2, 6)):
            out.append(look(rng))
        out.append(go(rng))
        out += ["registers", "backtrace"][:rng.randrange(3)]
    return ["info registers " + registers if c == "registers" else c for c in out[:n - 1]
            ] + ["info registers " + registers]
