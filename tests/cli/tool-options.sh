# SPDX-License-Identifier: MIT
# An option has one name, letter and argument in all programs: --help of each against the
# table in HACKING.md.
. "$SRC/tests/cli/libtracedump.sh"
programs="tracedump tracegdb tracesym tracecov tracediff cannoli-record cannoli-expand cannoli-ctl"
mkdir help
for program in $programs; do
    run 0 "$BIN/$program" --help
    cp stdout "help/$program"
done
python3 - "$SRC/HACKING.md" "$SRC/common/options_elsewhere.c" <<'END' || fail "options differ"
import os, re, sys
TOOLS = ["tracedump", "tracesym", "tracecov"]
ALL = TOOLS + ["tracediff", "tracegdb", "cannoli-record", "cannoli-expand", "cannoli-ctl"]
bad = []

# name -> program -> (letter, argument), by --help
found = {}
for program in sorted(os.listdir("help")):
    for line in open("help/" + program):
        m = re.match(r"^  (?:-(.), |    )--([a-z-]+)(?:\[?=([^\s\]]+)\]?)?", line)
        if m:
            found.setdefault(m[2], {})[program] = (m[1] or "", m[3] or "")

# The same by the table; "PROGRAM: ARGUMENT" is an exception
table = {}
for row in re.findall(r"^\| `--([a-z-]+)` \|(.*)\|$", open(sys.argv[1]).read(), re.M):
    letter, argument, _, programs = (c.strip() for c in row[1].split("|"))
    uses = table.setdefault(row[0], {})
    for part in programs.split(";"):
        names, _, other = part.partition(":")
        for name in names.split(","):
            for program in {"all": ALL, "tools": TOOLS}.get(name.strip(), [name.strip()]):
                uses[program] = (letter.strip("`-"), other.strip() or argument)

for name, uses in sorted(found.items()):
    if len(uses) > 1 and name not in table:
        bad.append(f"--{name} of {', '.join(uses)} is not in the table")
for name, uses in sorted(table.items()):
    if uses != found.get(name):
        bad.append(f"--{name}: the table has {uses}, --help {found.get(name)}")
# What a message says about options of other tools
elsewhere = dict(re.findall(r'{"([a-z-]+)", "([a-z ]+) ha(?:s|ve)"}', open(sys.argv[2]).read()))
for name in sorted(set(found) | set(elsewhere)):
    having = [p for p in TOOLS if p in found.get(name, ())]
    want = " and ".join(having) if 0 < len(having) < len(TOOLS) else None
    if elsewhere.get(name) != want:
        bad.append(f"--{name}: the messages say {elsewhere.get(name)}, --help {want}")
letters = {}
for name, uses in found.items():
    for program, (letter, _) in uses.items():
        if letter:
            letters.setdefault(letter, {}).setdefault(name, set()).add(program)
for letter, names in sorted(letters.items()):
    # Programs that have nothing else in common may differ if the table has both.
    if len(names) > 1 and not all(n in table for n in names):
        bad.append(f"-{letter} is {', '.join('--' + n for n in names)}")
if len(found) < 80 or len(table) < 35:
    bad.append(f"only {len(found)} options and {len(table)} rows found")
print("\n".join(bad))
sys.exit(bool(bad))
END
finish
