# SPDX-License-Identifier: MIT
# The command line: errors give one line and status 2; --help and the man page have the same
# options; traces that cannot be compared; output that cannot be written.
. "$SRC/tests/cli/libtracedump.sh"
diff="$BIN/tracediff"
"$TOOLS/mktrace" sample sample.ctr || exit 1
"$TOOLS/mktrace" diff 1 inserted a.ctr b.ctr >where || exit 1

usage() {
    is_usage tracediff "$@"
}
usage
usage sample.ctr
usage a.ctr b.ctr sample.ctr
usage --nonsense a.ctr b.ctr
usage -x a.ctr b.ctr
usage a.ctr -
usage - b.ctr
usage --at=1 a.ctr b.ctr
usage --at=1,x a.ctr b.ctr
usage --at=,2 a.ctr b.ctr
usage --with-thread=1 a.ctr b.ctr
usage --thread=0x a.ctr b.ctr
usage --ignore= a.ctr b.ctr
usage --ignore=data, a.ctr b.ctr
usage --ignore=module: a.ctr b.ctr
usage --ignore=call: a.ctr b.ctr
usage --ignore=0x20-0x10 a.ctr b.ctr
usage --lookahead=0 a.ctr b.ctr
usage --lookahead=1G a.ctr b.ctr
usage --max=0 a.ctr b.ctr
usage --lines=0 a.ctr b.ctr
usage --width=10 a.ctr b.ctr
usage --data=x a.ctr b.ctr
usage --counts=lines a.ctr b.ctr
usage --counts=blocks --at=1,1 a.ctr b.ctr
usage --color=blue a.ctr b.ctr
usage --html= a.ctr b.ctr
usage --html=x --json a.ctr b.ctr
usage --html=x --counts=blocks a.ctr b.ctr
usage --only-elf a.ctr b.ctr

run 0 "$diff" --help
silent --help
grep -q '^Usage: tracediff ' stdout || fail "--help"
run 0 "$diff" --version
grep -Eq '^tracediff \(cannoli\) [0-9.]+$' stdout || fail "--version: $(cat stdout)"
help_and_man tracediff 25

# ---- traces that cannot be compared
bad() { # WORDS ARGUMENT...: one line that contains the words, status 2, and no output
    run 2 "$diff" "${@:2}"
    one_line "${@:2}"
    grep -q -- "$1" stderr || fail "${*:2}: $(cat stderr)"
    [ ! -s stdout ] || fail "${*:2}: something on stdout"
}
echo text >text
bad "nothing: No such file" a.ctr nothing
bad "text: not a .ctr trace" text b.ctr
bad "/dev/null: " a.ctr /dev/null
"$TOOLS/mktrace" target x86_64 other.ctr || exit 1
bad "a.ctr is a trace of arm and other.ctr of x86_64: they cannot be compared" a.ctr other.ctr
bad "no thread .77777." -t 77777 a.ctr b.ctr
"$BIN/tracedump" --json -e exec -n 1 a.ctr >first
tid=$(grep -o '"tid":[0-9]*' first | head -n 1 | cut -d: -f2)
bad "from 0 to .*: there is no 99999" -t "$tid" --at=99999,0 a.ctr b.ctr
bad "select it with --thread" --at=0,0 a.ctr b.ctr
bad "--ignore" --ignore=no_such_function a.ctr b.ctr

# ---- whole and not whole
run 0 "$diff" a.ctr a.ctr
silent "a trace and itself"
grep -q '^0 differences; ' stdout || fail "a trace and itself: $(cat stdout)"
run 0 "$diff" -q a.ctr a.ctr
[ ! -s stdout ] || fail "-q: $(cat stdout)"
run 1 "$diff" a.ctr b.ctr
silent "two traces"
head -c $(($(stat -c %s a.ctr) * 2 / 3)) a.ctr >cut.ctr
run 2 "$diff" a.ctr cut.ctr
grep -q "^tracediff: cut.ctr: truncated at offset" stderr || fail "cut.ctr: $(cat stderr)"

# ---- a page for a browser
run 1 "$diff" --html=page.html a.ctr b.ctr
[ ! -s stdout ] || fail "--html: text on stdout"
python3 - page.html <<'END' || fail "--html: $(head -c 300 page.html)"
import html.parser, sys
stack, rows = [], 0


class Check(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        global rows
        rows += ("class", "d") in attrs
        assert not any(name in ("src", "href") for name, _ in attrs)
        if tag != "meta":
            stack.append(tag)

    def handle_endtag(self, tag):
        assert stack.pop() == tag, tag


text = open(sys.argv[1], encoding="utf-8").read()
Check().feed(text)
assert not stack and rows and "it&#39;s" in text or "it's" in text
END
bad "no/such/page.html: " --html=no/such/page.html a.ctr b.ctr

# ---- output that cannot be written
"$diff" a.ctr b.ctr >/dev/full 2>stderr
[ $? -eq 2 ] || fail "/dev/full"
one_line "/dev/full"
"$diff" a.ctr b.ctr 2>stderr | head -n 1 >/dev/null
silent "tracediff | head"
finish
