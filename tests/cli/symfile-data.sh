# SPDX-License-Identifier: MIT
# Data objects, types and members of ELF files: symbols are those of readelf, offsets those
# of the compiler (offsetof), values those of the initializers, for several machines,
# compilers and versions of DWARF.
. "$SRC/tests/cli/libsymfile.sh"
need python3 readelf

# value FILE OBJECT PATH HEX
value() {
    local got
    got=$("$symdump" --full value "$1" "$2" "$3")
    [ "$got" = "$4" ] || fail "$1: $2$3 is $got, not $4"
}

# part FILE TYPE PATH TEXT
part() {
    local got
    got=$("$symdump" --full part "$1" "$2" "$3")
    [ "$got" = "$4" ] || fail "$1: $2 $3: '$got', not '$4'"
}

# Every symbol of data that readelf lists, with address, size, binding
symbols() {
    readelf -sW "$1" >readelf.out 2>/dev/null
    "$symdump" --full objects "$1" >objects 2>stderr || fail "$1: $(cat stderr)"
    silent "$1"
    python3 - "$1" <<'END' || fail "$1: objects"
import re, sys
have = {}
for line in open("objects"):
    left = line.split(" | ")[0].split()
    tls = left[4] == "tls"
    name = left[5] if tls else left[4]
    have[(name, int(left[0], 16), tls)] = (int(left[1]), left[3])
bad = count = 0
for line in open("readelf.out"):
    row = line.split()
    if len(row) < 8 or row[3] not in ("OBJECT", "TLS", "COMMON") or row[6] in ("UND", "ABS"):
        continue
    name = row[7].split("@")[0]
    if name.startswith(("$", ".L")):
        continue
    bind = "local" if row[4] == "LOCAL" else "global"
    want = (int(row[2], 0), bind)
    got = have.get((name, int(row[1], 16), row[3] == "TLS"))
    count += 1
    if got != want:
        bad += 1
        print(sys.argv[1], row, got)
sys.exit(1 if bad or count < 12 else 0)
END
    local name
    for name in 'list | list | struct node ' 'total | total | const volatile long' \
        'tick::count | int ' 'tock::count | int ' 'uninitialized | int \[100\] ' \
        'hidden | int ' 'mine | mine | int ' 'own | own | long long ' 'alias | alias | int '; do
        grep -q " $name" objects || grep -q "| $name" objects || {
            # a static variable that is optimized out is no object
            case $name in hidden* | tick*) continue ;; esac
            # no relocation for it: gcc leaves out the location of a thread's variable
            case $1$name in aarch64*own*) continue ;; esac
            fail "$1: no object '$name'"
        }
    done
    [ "$(grep -c ' tls [mo]' objects)" = 2 ] || fail "$1: $(grep ' tls ' objects)"
}

# The compiler's own numbers
layout() {
    local file=$1 i=0 path offset size
    for path in 'struct node' words 'struct bits' 'struct packed' 'struct outer' both \
        'nodes[2].name' 'grid[1][2]' call real rest; do
        offset=$("$symdump" --full value "$file" layout "[$i]")
        case $path in
        struct*)
            size=$("$symdump" --full type "$file" "$path" | sed -n '1s/.* size \([0-9]*\).*/\1/p')
            [ "$size" = $((0x$offset)) ] || fail "$file: $path has $size bytes, not 0x$offset"
            ;;
        words) "$symdump" --full part "$file" 'struct node' "$path" |
            grep -q "^offset $((0x$offset)) " || fail "$file: $path is not at 0x$offset" ;;
        *) "$symdump" --full part "$file" outer "$path" |
            grep -q "^offset $((0x$offset)) " || fail "$file: $path is not at 0x$offset" ;;
        esac
        i=$((i + 1))
    done
}

# check FILE COMPILER FLAG...
check() {
    local file=$1
    shift
    command -v "$1" >/dev/null || return 0
    "$@" -o "$file" "$sources/data.c" 2>cc.err || {
        fail "$file: $(head -3 cc.err)"
        return
    }
    symbols "$file"
    layout "$file"
    value "$file" bits .a 5
    value "$file" bits .b 2a5
    value "$file" bits .c 7d
    value "$file" bits .d 9182736455
    value "$file" bits .e 7e
    value "$file" packed .u 12345678
    value "$file" packed .x 15
    value "$file" packed .y 1abcd
    value "$file" outer .both 55667788
    value "$file" outer 'nodes[1].name[2]' 6f
    value "$file" outer 'grid[1][0]' 4
    value "$file" outer color fffffffe
    part "$file" outer nope "'struct outer' has no member 'nope'"
    part "$file" outer 'grid[2]' "'int [2][3]' has no element 2"
    part "$file" outer 'grid.x' "'int [2][3]' has no members: its elements are [0], [1], ..."
    part "$file" outer 'nodes[0].next.next' \
        "'struct node *' has no members: pointers are not followed"
    "$symdump" --full type "$file" 'struct outer' >type
    grep -q ' call | int (\*)(struct outer \*, int, \.\.\.)$' type || fail "$file: $(cat type)"
    grep -q ' - | union {...}$' type || fail "$file: $(cat type)"
    grep -q ' rest | char \[\]$' type || fail "$file: $(cat type)"
    "$symdump" --full type "$file" 'struct node' >type
    grep -q ' words | const word_t \*$' type || fail "$file: $(cat type)"
    grep -q ' next | struct node \*$' type || fail "$file: $(cat type)"
    "$symdump" --full type "$file" 'enum color' >type
    for value in 'RED 0' 'GREEN 5' 'BLUE -2'; do
        grep -q "^  $value\$" type || fail "$file: $(cat type)"
    done
    "$symdump" --full prototypes "$file" >prototypes
    for value in 'int main(int argc, char \*\* argv)' 'int many(const char \* format, \.\.\.)' \
        'long \(int \)\?sum(struct node \* n, const char \* text, double factor, int last)' \
        'int tock()'; do
        grep -q " $value\$" prototypes || fail "$file: no '$value' in $(cat prototypes)"
    done
}

check gcc5-O0 gcc -gdwarf-5 -O0
check gcc4-O2 gcc -gdwarf-4 -O2
check clang5-O2 clang -gdwarf-5 -O2
check clang4-O0 clang -gdwarf-4 -O0
check types4-O0 gcc -gdwarf-4 -fdebug-types-section -O0
check types5-O2 gcc -gdwarf-5 -fdebug-types-section -O2
check strict-O0 gcc -gdwarf-2 -gstrict-dwarf -O0
check mips4-O0 mips-linux-gnu-gcc -gdwarf-4 -O0
check mips2-O2 mips-linux-gnu-gcc -gdwarf-2 -gstrict-dwarf -O2
check arm-O2 arm-linux-gnueabihf-gcc -g -O2
check aarch64-O0 aarch64-linux-gnu-gcc -g -O0
check s390x-O2 s390x-linux-gnu-gcc -g -O2

# Names of users
match() {
    [ "$("$symdump" --full match gcc5-O0 "$2" "$3" "$4")" = "$1" ] ||
        fail "'$2' and '$3': not $1"
}
bar='ns::Foo::bar(int) const'
for pattern in bar Foo::bar 'Foo::bar(int)' 'ns::Foo::bar(int)' 'bar(int) const' 'ns::Foo::b*' \
    '*::bar' 'b?r' '[b]ar' _ZNK2ns3Foo3barEi '::ns::Foo::bar' 'bar( int )'; do
    match 1 "$pattern" "$bar" _ZNK2ns3Foo3barEi
done
for pattern in ar oo::bar 'bar(long)' ns Foo '::bar' 'ba' 'x*' ''; do
    match 0 "$pattern" "$bar" _ZNK2ns3Foo3barEi
done
match 1 twice 'int n::twice<int, n::P<long> >(int)' _Z
match 1 'n::twice' 'int n::twice<int, n::P<long> >(int)' _Z
match 1 'twice<int, n::P<long>>' 'int n::twice<int, n::P<long> >(int)' _Z
match 0 P 'int n::twice<int, n::P<long> >(int)' _Z
match 1 'operator()' 'A::operator()(int) const' _Z
match 1 'operator[]' 'A::operator[](unsigned long)' _Z
match 1 'operator<<' 'A::operator<<(int)' _Z
match 1 f '(anonymous namespace)::f()' _Z
match 1 '(anonymous namespace)::f' '(anonymous namespace)::f()' _Z
match 1 count 'f(int)::count' _ZZ1fiE5count
match 1 'f(int)::count' 'f(int)::count' _ZZ1fiE5count
match 0 f 'f(int)::count' _ZZ1fiE5count
match 1 method '<T as Trait>::method' _Z

# Lines: a later one if there is no code
line() {
    local got
    got=$("$symdump" --full line gcc5-O0 "$1" | tail -1 | sed 's/ranges [1-9][0-9]*/ranges n/')
    [ "$got" = "$2" ] || fail "$1: '$got', not '$2'"
}
at=$(grep -n 'count += step' "$sources/data.c" | cut -d: -f1)
line "data.c:$at" "files 1 ranges n line $at"
line "symfile/data.c:$at" "files 1 ranges n line $at"
line "$sources/data.c:$at" "files 1 ranges n line $at"
line "ta.c:$at" "files 0 ranges 0 line 0"
line data.c:1 "files 1 ranges n line $((at - 2))" # the brace
line data.c:9999 "files 1 ranges 0 line 0"
"$symdump" --full line gcc5-O0 "data.c:$at" | head -1 >range
echo "0x$(cut -d' ' -f1 range)" | "$symdump" addr2line gcc5-O0 | grep -q "data.c:$at\$" ||
    fail "data.c:$at is $(cat range)"

# C++: namespaces, static members, base classes
cat >cxx.cpp <<'END'
namespace ns {
struct Base { int b; virtual ~Base() {} };
class Derived : public Base { public: static int made; int own; Base &ref() { return *this; } };
int Derived::made = 3;
typedef Derived alias_t;
alias_t object;
namespace { int hidden = 4; }
template <typename T> struct Box { T value; };
Box<long> box = {5};
enum class Kind : short { One = 1, Two };
Kind kind = Kind::Two;
}
struct Diamond : virtual ns::Base { int d; } diamond;
int f(int x) { static int count; return count += x + ns::hidden; }
int f(long x) { static int count; return count += (int)x; }
int main(int n, char **) { return f(n) + f((long)n) + ns::object.ref().b + (int)ns::kind; }
END
for compiler in g++ clang++; do
    for flags in '-gdwarf-4 -fdebug-types-section' '-gdwarf-5 -O2'; do
        command -v $compiler >/dev/null || continue
        # shellcheck disable=SC2086
        $compiler $flags -o cxx cxx.cpp 2>cc.err || fail "$compiler: $(head -3 cc.err)"
        "$symdump" --full objects cxx >objects 2>stderr
        silent "$compiler $flags"
        for name in 'ns::Derived::made | int ' 'ns::object | ns::alias_t ' 'ns::box | ns::Box<long' \
            'ns::kind | ns::Kind ' 'diamond | Diamond ' 'f(int)::count | int ' \
            'f(long)::count | int '; do
            grep -q "| $name" objects || fail "$compiler $flags: no '$name': $(grep -v std:: objects)"
        done
        "$symdump" --full find-objects cxx count >found
        [ "$(wc -l <found)" = 2 ] || fail "$compiler $flags: count: $(cat found)"
        "$symdump" --full find-functions cxx 'f' >found
        [ "$(wc -l <found)" = 2 ] || fail "$compiler $flags: f: $(cat found)"
        "$symdump" --full part cxx ns::object b | grep -q ' int$' || fail "$compiler: base class"
        "$symdump" --full part cxx diamond b >found
        grep -q "^the place of 'b' in 'Diamond' is only known at run time" found ||
            fail "$compiler: virtual base: $(cat found)"
        "$symdump" --full type cxx ns::Kind | grep -q '^  Two 2$' || fail "$compiler: enum class"
    done
done

# Other languages: read without a remark
cat >l.f90 <<'END'
program p
  character(len=5) :: name = "hello"
  real :: grid(2:4, 3) = 1.0
  print *, name, grid
end program
END
cat >l.adb <<'END'
procedure L is
   type Index is range 3 .. 9;
   type Row is array (Index) of Integer;
   type Rec (Big : Boolean) is record
      case Big is
         when True => Many : Row;
         when False => One : Short_Integer;
      end case;
   end record;
   R : Rec (True);
begin
   R.Many (5) := 1;
end L;
END
cat >l.rs <<'END'
pub enum Shape { Circle(u32), Square { side: u64 }, None }
pub static COUNT: [u16; 3] = [1, 2, 3];
fn main() { let s = Shape::Square { side: 2 }; if let Shape::Square { side } = s { println!("{} {}", side, COUNT[1]); } }
END
other() {
    command -v "$1" >/dev/null || return 0
    "$@" >cc.err 2>&1 || return 0
    "$symdump" --full all l >out 2>stderr || fail "$1: status $?: $(cat stderr)"
    silent "$1"
}
other gfortran -g -o l l.f90
other gnatmake -g -o l l.adb
other rustc -g -o l l.rs
[ ! -e l ] || ! command -v rustc >/dev/null || "$symdump" --full find-objects l COUNT |
    grep -q '| u16 \[3\] |\|| \[u16; 3\] ' || echo "Rust: $("$symdump" --full find-objects l COUNT)"
finish
