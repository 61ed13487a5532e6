#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words that have a standard term in the field are not used: names, comments, documents.

usage: words.py ROOT [PATH...]

Reads the tracked files of ROOT (all files where there is no git) and prints each place
with the term to use.  PATH: folders and files to read, instead of COVERED; "." is all.
"""
import os
import re
import subprocess
import sys

# The part of the tree that is held to this.
COVERED = ["."]

# Words, in any case, as a whole or as a part of a name between underscores.  A phrase also
# matches across a line break.
TERMS = [
    ("predict", ["foretell", "foretells", "foretelling", "foretold"]),
    ("record, report, emit, show or say; distinguish for 'tell apart'",
     ["tell", "tells", "telling", "told", "teller", "tellers"]),
    ("query, request or call", ["ask", "asks", "asked", "asking", "asker", "askers"]),
    ("protocol error", ["oddity", "oddities"]),
    ("poorly predicted", ["erratic", "erratically"]),
    ("after", ["behind"]),
    ("straight run", ["plain run", "plain runs"]),
    ("reserved buffer", ["home chunk", "home chunks", "home buffer", "home buffers"]),
    ("side queue", ["aux ring", "aux rings"]),
    ("side record", ["aux record", "aux records"]),
    ("is, is at, or come before/after",
     ["stands", "stood", "stand at", "stand in", "stand on", "stand there", "stand before",
      "stand after", "stand between", "standing at", "standing in"]),
    ("defer", ["put off", "puts off", "putting off"]),
    ("result from", ["come of", "comes of"]),
]

# (path, what is permitted there, why).  The path is a regular expression that begins at the
# start; what is permitted is one that the place of the word must lie in.  An entry for a
# covered path that permits nothing fails.
EXEMPT = [
    (r"", r"\basked_ns\b",
     "a field of the public struct ctr_mark and of the MARK event"),
    (r"", r"\.tell\(",
     "position in a file: Python"),
    (r"man/tracedump\.1", r"^\.B asked$",
     "a JSON key of tracedump"),
    (r"man/tracedump\.1|tools/|tests/", r"asked for at|[\"'|]asked[\"')]|\\\"asked\\\"",
     "output of tracedump"),
    (r"", r"[Ss]tands? for\b|\bstands alone\b",
     "an abbreviation, a name"),
    (r"HACKING\.md", r"^\|.*\|.*\|.*\|$",
     "the glossary has a column of words that are not used"),
    (r"tests/structure/words\.py", r"^.*$",
     "this table"),
]

LEADER = r"[\s*#/\\\".]+"  # a line break inside of a comment or a man page, too
WORD = r"(?<![A-Za-z0-9])%s(?![A-Za-z0-9])"


def pattern(words):
    return re.compile("|".join(WORD % LEADER.join(map(re.escape, w.split())) for w in words),
                      re.IGNORECASE)


PATTERNS = [(pattern(words), term) for term, words in TERMS]


def tracked(root):
    """Names of the files, relative to root."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True,
                         text=True, check=False)
    if git.returncode == 0 and git.stdout:
        return [name for name in git.stdout.split("\0")
                if name and os.path.isfile(os.path.join(root, name))]
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".git", "build"))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return found


def covers(path, name):
    return path == "." or name == path or name.startswith(path.rstrip("/") + "/")


def places(text):
    """(start, end, term) of each word that has a standard term."""
    for regex, term in PATTERNS:
        for match in regex.finditer(text):
            yield match.start(), match.end(), term


class Exemptions:
    def __init__(self):
        self.rules = [(re.compile(path), re.compile(what, re.MULTILINE))
                      for path, what, _ in EXEMPT]
        self.used = set()

    def permit(self, name, text, start, end):
        line = text.rfind("\n", 0, start) + 1
        until = text.find("\n", end)
        part = text[line:until if until >= 0 else len(text)]
        for number, (path, what) in enumerate(self.rules):
            if path.match(name) and any(
                    m.start() <= start - line and end - line <= m.end()
                    for m in what.finditer(part)):
                self.used.add(number)
                return True
        return False

    def unused(self, names):
        """Those of a file or folder that was read, without effect."""
        for number, (path, what, _) in enumerate(EXEMPT):
            if path and number not in self.used and any(re.match(path, n) for n in names):
                yield "the exemption of %s in %s is not needed" % (what, path)


def self_test():
    """A table that matches nothing must not pass."""
    for term, words in TERMS:
        for word in words:
            for text in (word, word.upper(), "is_%s_x" % word.replace(" ", "\n * ")):
                if term not in [t for _, _, t in places("(%s)" % text)]:
                    sys.exit("words.py does not find %r" % text)
    if list(places("task foretaste ftell hotel asks2 untold")):
        sys.exit("words.py finds parts of words")


def main():
    root, paths = sys.argv[1], sys.argv[2:]
    covered = paths or COVERED
    names = sorted(tracked(root))
    exemptions = Exemptions()
    found, read = [], []

    self_test()
    for path in covered:
        if not any(covers(path, name) for name in names):
            found.append("%s: there is no such file or folder" % path)
    for name in names:
        if not any(covers(path, name) for path in covered):
            continue
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        read.append(name)
        found += ["%s: %r in the name: %s" % (name, name[start:end], term)
                  for start, end, term in places(name)]
        for start, end, term in sorted(places(text)):
            if not exemptions.permit(name, text, start, end):
                found.append("%s:%d: %r: %s" % (name, text.count("\n", 0, start) + 1,
                                                text[start:end], term))
    if not paths:
        found += exemptions.unused(read)
    for line in found:
        print(line)
    print("%d files, %d words to replace" % (len(read), len(found)))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
