# SPDX-License-Identifier: MIT
# Symbols end to end: a random 10,000 of the addresses that a C++ program with shared
# libraries executed, compared with eu-addr2line (symbol, source line, inlined functions)
# and nm.  This also checks the position of a pc in its file, through the mappings.
. "$SRC/tests/cli/librecord.sh"

need eu-addr2line
# Those of the targets that this machine has
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
targets=
for target in x86_64 aarch64; do
    if [ -x "$qemu_dir/qemu-$target" ] && command -v $target-linux-gnu-g++ >/dev/null; then
        targets+=" $target"
    elif [ -n "${CANNOLI_EXPECT_QEMU:-}" ]; then
        fail "no patched qemu-$target in '$qemu_dir', or no $target-linux-gnu-g++"
    fi
done
if [ -z "$targets" ]; then
    echo "needs a patched qemu-x86_64 or qemu-aarch64 in '$qemu_dir' and a cross compiler"
    [ "$failed" -eq 0 ] && exit 77
    exit 1
fi

cat >lib.cc <<'END'
#include <map>
#include <string>
#include <vector>
namespace geometry {
template <typename T> struct Point {
    T x, y;
    T dot(const Point &o) const { return x * o.x + y * o.y; }
};
class Shape {
public:
    virtual ~Shape() {}
    virtual double area() const = 0;
};
class Box : public Shape {
    Point<double> p_;
public:
    explicit Box(double a) : p_{a, a + 1} {}
    double area() const override { return p_.dot({p_.y, p_.x}); }
};
Shape *make(double a) { return new Box(a); }
std::map<std::string, int> count(const std::vector<std::string> &words)
{
    std::map<std::string, int> m;
    for (const auto &w : words) {
        m[w]++;
    }
    return m;
}
} // namespace geometry
END
cat >main.cc <<'END'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
namespace geometry {
class Shape {
public:
    virtual ~Shape() {}
    virtual double area() const = 0;
};
Shape *make(double a);
std::map<std::string, int> count(const std::vector<std::string> &words);
} // namespace geometry
namespace {
template <int N> struct Fib {
    static long value(long x) { return Fib<N - 1>::value(x) + Fib<N - 2>::value(x + 1); }
};
template <> struct Fib<1> {
    static long value(long x) { return x; }
};
template <> struct Fib<0> {
    static long value(long x) { return x * 3; }
};
bool operator<(const std::unique_ptr<geometry::Shape> &a, const std::unique_ptr<geometry::Shape> &b)
{
    return a->area() < b->area();
}
} // namespace
static void thrower(int i)
{
    if (i % 3 == 0) {
        throw std::runtime_error("three");
    }
}
int main(int argc, char **)
{
    std::vector<std::unique_ptr<geometry::Shape>> shapes;
    std::regex re("([a-z]+)-([0-9]+)");
    std::vector<std::string> words;
    for (int i = 0; i < 20; i++) {
        std::ostringstream s;
        s << "word-" << i * argc % 7;
        std::smatch m;
        std::string t = s.str();
        if (std::regex_match(t, m, re)) {
            words.push_back(m[2]);
        }
        shapes.emplace_back(geometry::make(20 - i));
        try {
            thrower(i);
        } catch (const std::exception &e) {
            words.push_back(e.what());
        }
    }
    std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) { return a < b; });
    double sum = 0;
    std::for_each(shapes.begin(), shapes.end(), [&](const auto &p) { sum += p->area(); });
    for (const auto &p : geometry::count(words)) {
        std::cout << p.first << ' ' << p.second << '\n';
    }
    std::function<long(long)> f = [](long x) { return Fib<7>::value(x); };
    std::cout << sum << ' ' << f(argc) << std::endl;
    return 0;
}
END
cat >compare.py <<'END'
import json, os, random, re, subprocess, sys
trace, tools, seed = sys.argv[1:]
where = {}
p = subprocess.Popen([os.environ["BIN"] + "/tracesym", "-q", "--json", "-e", "exec", trace],
                     stdout=subprocess.PIPE, text=True)
for line in p.stdout:
    at = line.index('"pc":"') + 6
    pc = line[at:line.index('"', at)]
    if pc not in where:
        where[pc] = json.loads(line)
assert p.wait() == 0
chosen = random.Random(int(seed)).sample(sorted(where), min(10000, len(where)))
assert len(chosen) == 10000, "only %d addresses were executed" % len(chosen)
modules = {}
for pc in chosen:
    assert "module" in where[pc], "no module: %s" % where[pc]
    modules.setdefault(where[pc]["module"], []).append(where[pc])
assert len(modules) >= 5, modules.keys()


def output_of(command, text=""):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout.splitlines()


def debug_file(module):
    for line in output_of(["eu-readelf", "-n", module]):
        m = re.search(r"Build ID: ([0-9a-f]+)", line)
        if m:
            return "/usr/lib/debug/.build-id/%s/%s.debug" % (m[1][:2], m[1][2:])


def names_of(module):
    """Names by address."""
    names = {}
    for file in (module, debug_file(module)):
        for how in ([], ["-D"]):
            for demangle in ([], ["-C"]):
                for line in output_of([tools + "nm"] + how + demangle + [file or module]):
                    m = re.match(r"([0-9a-f]+) \w (.*)", line)
                    if m:
                        names.setdefault(int(m[1], 16), set()).add(re.sub("@.*", "", m[2]))
    return names


def source(text):
    """FILE:LINE and what may follow, folded; None if it is unknown."""
    file, line = re.match(r"([^:]*):(\d+|\?)", text).groups()
    line = int(line) if line != "?" else 0
    return None if file == "??" else (os.path.normpath(file), line)


def ours(o):
    return (os.path.normpath(o["file"]), o.get("line", 0)) if "file" in o else None


def chains(text):
    """The places and the inlined functions of each address."""
    groups = []
    for line in text:
        if re.fullmatch("0x[0-9a-f]{16}", line):
            groups.append([])
        else:
            groups[-1].append(line)
    return [([source(s) for s in g[1::2]],
             [re.sub(r" inlined at .* in .*", "", s) for s in g[:-2:2]]) for g in groups]


wrong = aliases = lines = inlined = disputed = 0


def differ(what, o, want):
    global wrong
    wrong += 1
    if wrong < 20:
        print("%s of %s: %s, not %s" % (what, o["module"], o, want), file=sys.stderr)


for module, of_module in modules.items():
    text = "\n".join(o["vaddr"] for o in of_module)
    names = names_of(module)
    # The symbol that contains it
    out = output_of(["eu-addr2line", "-S", "-C", "-e", module], text)
    for o, want in zip(of_module, out[::2]):
        name, _, offset = re.sub(r" \(\.\w+\)$", "", want).partition("+0x")
        name = re.sub(r"@@?[A-Z][\w.]*$", "", name)
        if o.get("function", "").endswith("@plt"):
            continue  # unknown to eu-addr2line
        if "function" not in o:
            if not name.startswith(("??", "(", "$")):
                differ("symbol", o, want)
        elif int(o["offset"], 16) != int(offset or "0", 16) and not name.startswith("$"):
            differ("offset", o, want)
        elif name != o["function"]:
            aliases += 1  # any of several names of an address is right; $x is no name
            if o["function"] not in names.get(int(o["vaddr"], 16) - int(o["offset"], 16), ()):
                differ("name", o, want)
    # The source line, and what is inlined there.  At the end of a block of code eu-addr2line
    # sometimes uses the block before; then binutils decides.
    mine = chains(output_of(["eu-addr2line", "-a", "-i", "-f", "-C", "-e", module], text))
    other = chains(output_of([tools + "addr2line", "-a", "-i", "-f", "-C", "-e", module], text))
    assert len(mine) == len(other) == len(of_module)
    for o, (w, functions), (w2, functions2) in zip(of_module, mine, other):
        got = [ours(o)] + [ours(f) for f in o.get("inlined", [])]
        got_functions = [f["function"] for f in o.get("inlined", [])]
        lines += w[0] is not None
        inlined += len(w) > 1
        if got[0] != w[0]:
            differ("line", o, w)
        elif (got, got_functions) != (w, functions):
            if (w, functions) == (w2, functions2):
                differ("inlined", o, (w, functions))
            else:
                disputed += 1
print("%s: %d addresses in %d modules, %d with lines, %d inlined, %d by another name, "
      "%d on which eu-addr2line and addr2line differ: %d wrong"
      % (trace, len(chosen), len(modules), lines, inlined, aliases, disputed, wrong))
assert lines > 100 and inlined > 100 and disputed < 50
sys.exit(wrong != 0)
END

# The layout of Debian's cross compilers; foreign libraries are in their folder.
for target in $targets; do
    tools=$target-linux-gnu-
    mkdir $target
    ${tools}g++ -g -O2 -fPIC -shared -o $target/libgeometry.so lib.cc || exit 1
    ${tools}g++ -g -O1 -o $target/program main.cc -L$target -lgeometry \
        -Wl,-rpath,'$ORIGIN' || exit 1
    prefix=
    [ $target = x86_64 ] || prefix=/usr/$target-linux-gnu
    QEMU_LD_PREFIX=$prefix run 0 "$record" --qemu-dir "$qemu_dir" -q -o $target.ctr -- $target/program
    python3 compare.py $target.ctr $tools 5 || fail "$target"
done
finish
