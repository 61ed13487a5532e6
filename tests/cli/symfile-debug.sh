# SPDX-License-Identifier: MIT
# Separate debug information: by build id, by .gnu_debuglink, shared by dwz, and
# .gnu_debugdata; the user's folders come first; files that do not match are not used.
. "$SRC/tests/cli/libsymfile.sh"
need g++ objcopy strip xz dwz eu-readelf

shapes whole g++ -O2 -g -Wl,--build-id=sha1
for what in functions ranges scopes code; do
    "$symdump" $what whole >whole.$what
done
id=$("$symdump" info whole | sed -n 's/^build_id //p')
[ "$id" = "$(eu-readelf -n whole | sed -n 's/.*Build ID: //p')" ] || fail "build id $id"
objcopy --only-keep-debug whole whole.debug
strip -o bare whole
# nothing CASE OPTION... FILE: no debug information is found
nothing() {
    local case=$1
    shift
    "$symdump" "${@:1:$#-1}" info "${@: -1}" >info 2>remark || fail "$case: $(cat remark)"
    grep -q '^has_lines 0$' info || fail "$case: lines from another file"
    grep -q '^debug_path $' info || fail "$case: $(grep debug_path info)"
}
# found CASE PATH OPTION... FILE: lines, functions, scopes are those of the whole
found() {
    local case=$1 path=$2 what
    shift 2
    "$symdump" "${@:1:$#-1}" info "${@: -1}" >info 2>remark || fail "$case: $(cat remark)"
    [ ! -s remark ] || fail "$case: $(cat remark)"
    grep -q "^debug_path $path\$" info || fail "$case: $(grep debug_path info), not $path"
    grep -q '^has_symtab 1$' info || fail "$case: no .symtab"
    for what in functions ranges scopes code; do
        "$symdump" "${@:1:$#-1}" $what "${@: -1}" >got
        same whole.$what got "$case: $what are not those of the whole file"
    done
}
nothing "stripped" bare
"$symdump" functions bare | grep -q dynsym || fail "stripped: no function of .dynsym"
"$symdump" functions bare | grep -q ' main' && fail "stripped: main"

# By build id.  A folder's name may hold a colon.
mkdir -p "a:b/.build-id/${id:0:2}" other/.build-id/"${id:0:2}"
cp whole.debug "a:b/.build-id/${id:0:2}/${id:2}.debug"
cp whole.debug "other/.build-id/${id:0:2}/${id:2}.debug"
found "build id" "a:b/.build-id/${id:0:2}/${id:2}.debug" --debug-dir a:b bare
found "first folder" "a:b/.build-id/${id:0:2}/${id:2}.debug" --debug-dir a:b --debug-dir other bare
found "second folder" "other/.build-id/${id:0:2}/${id:2}.debug" --debug-dir none --debug-dir other bare

# Another build id, damaged, a pipe (opening one waits), a folder, itself: not used.
mkdir -p bad/.build-id/"${id:0:2}"
bad="bad/.build-id/${id:0:2}/${id:2}.debug"
shapes second g++ -O1 -g -Wl,--build-id=md5
objcopy --only-keep-debug second second.debug
cp second.debug "$bad"
nothing "another build id" --debug-dir bad bare
found "after another" "other/.build-id/${id:0:2}/${id:2}.debug" --debug-dir bad --debug-dir other bare
head -c 30 whole.debug >"$bad"
nothing "truncated" --debug-dir bad bare
rm "$bad" && mkfifo "$bad"
nothing "pipe" --debug-dir bad bare
rm "$bad" && mkdir "$bad"
nothing "folder" --debug-dir bad bare
rmdir "$bad" && cp bare "$bad"
"$symdump" --debug-dir bad info bare >info || fail "stripped as debug file"
grep -q '^has_lines 0$' info || fail "stripped as debug file: lines"
rm "$bad" && ln -s "$PWD/bare" "$bad"
nothing "itself" --debug-dir bad bare

# By name: beside the file, in .debug, in a folder by the file's path and without.
shapes noid g++ -O2 -g -Wl,--build-id=none
for what in functions ranges scopes code; do
    "$symdump" $what noid >whole.$what
done
objcopy --only-keep-debug noid noid.debug
mkdir -p bin/.debug dirs/"$PWD"/bin
strip -o bin/app noid
objcopy --add-gnu-debuglink=noid.debug bin/app
nothing "no file with that name" bin/app
cp noid.debug dirs
found "folder" dirs/noid.debug --debug-dir dirs bin/app
mv dirs/noid.debug dirs/"$PWD"/bin
found "folder and path" "dirs$PWD/bin/noid.debug" --debug-dir dirs bin/app
cp noid.debug bin/.debug
found "user's before .debug" "dirs$PWD/bin/noid.debug" --debug-dir dirs bin/app
found ".debug" "$PWD/bin/.debug/noid.debug" bin/app
cp noid.debug bin
found "beside" bin/noid.debug bin/app
(cd bin && "$symdump" info app) | grep -q '^has_lines 1$' || fail "beside, no folder in the name"
printf x >>bin/noid.debug
found "wrong CRC" "$PWD/bin/.debug/noid.debug" bin/app
rm -r bin/.debug
nothing "wrong CRC only" bin/app

# dwz: shared between two files; the second is found by path, or reported as missing
shapes one g++ -O2 -g -Wl,--build-id=sha1
cp whole two
for what in functions ranges scopes code; do
    "$symdump" $what one >whole.$what
done
if dwz -m shared.dwz -M shared.dwz one two 2>dwz.err; then
    eu-readelf -S one | grep -q gnu_debugaltlink || fail "dwz shares nothing"
    found "dwz" "" one
    mkdir -p moved/.build-id
    altid=$(eu-readelf -n shared.dwz | sed -n 's/.*Build ID: //p')
    mkdir -p "moved/.build-id/${altid:0:2}"
    mv shared.dwz "moved/.build-id/${altid:0:2}/${altid:2}.debug"
    found "dwz by build id" "" --debug-dir moved one
    "$symdump" info one >info 2>stderr || fail "dwz missing: $?"
    one_line "dwz missing"
    grep -q 'shared.dwz is missing' stderr || fail "dwz missing: $(cat stderr)"
else
    fail "dwz: $(cat dwz.err)"
fi

# .gnu_debugdata: names of .symtab for a stripped file
nm -D whole --format=posix --defined-only | awk '{print $1}' | sort >dynamic
nm whole --format=posix --defined-only | awk '$2 ~ /^[TtWi]$/ {print $1}' | sort >all
comm -13 dynamic all >keep
objcopy -S --remove-section .gdb_index --remove-section .comment \
    --keep-symbols=keep whole.debug mini 2>/dev/null
xz -kf mini
objcopy --add-section .gnu_debugdata=mini.xz bare withmini
"$symdump" info withmini | grep -q '^has_symtab 1$' || fail ".gnu_debugdata: no symbols"
"$symdump" functions withmini >got
"$symdump" functions whole | awk '{print $1, $5}' | sort >want.names
awk '{print $1, $5}' got | sort >got.names
grep -q ' debugdata .* main' got || fail ".gnu_debugdata: no main: $(grep main got)"
missing=$(comm -23 want.names got.names | wc -l)
[ "$missing" -le 12 ] || fail ".gnu_debugdata: $missing missing: $(comm -23 want.names got.names | head -5)"
printf 'not xz at all' >mini.bad
objcopy --add-section .gnu_debugdata=mini.bad bare badmini
"$symdump" functions badmini | grep -q dynsym || fail "bad .gnu_debugdata"

# Without section headers the names of dynamic symbols are still found
cp bare nosections
python3 - nosections <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(40); f.write(bytes(8))      # e_shoff
    f.seek(60); f.write(bytes(4))      # e_shnum, e_shstrndx
END
"$symdump" functions bare | awk '$3 == "plt" || $3 == "dynsym" {print $1, $3, $4, $5}' >want
"$symdump" functions nosections | awk '{print $1, $3, $4, $5}' >got
grep ' dynsym ' want >want.dyn; grep ' dynsym ' got >got.dyn
same want.dyn got.dyn "no section headers: .dynsym"
grep ' plt ' want >want.plt; grep ' plt ' got >got.plt
same want.plt got.plt "no section headers: PLT"
"$symdump" info nosections | grep -q "^build_id $id" || fail "no section headers: build id"
finish
