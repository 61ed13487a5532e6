# SPDX-License-Identifier: MIT
# The completion that each program prints for bash: options, their words, files and names of
# the trace, without the package bash-completion, and once in an interactive bash.
# The scripts for zsh and fish are run by these shells where they are there.
. "$SRC/tests/cli/libtracedump.sh"
programs='cannoli-record cannoli-expand cannoli-ctl tracedump tracegdb tracesym tracecov tracediff'
PATH=$BIN:$PATH
"$TOOLS/mktrace" sample sample.ctr || exit 1
mkdir -p traces folder 'a folder'
cp sample.ctr traces/one.ctr
: >file.txt
: >lib.so
: >run.ctl

for program in $programs; do
    run 0 "$BIN/$program" --completion=bash
    silent "$program --completion=bash"
    bash -n stdout || fail "$program: bash does not read it"
    # shellcheck disable=SC1091
    . ./stdout
    is_usage "$program" --completion=csh
    grep -q "unknown shell 'csh' (did you mean 'zsh'?); known: bash, zsh, fish" stderr ||
        fail "$program --completion=csh: $(cat stderr)"
done
compopt() {
    OPTS+="$2 "
}

# replies LINE: COMPREPLY at the end of the line, sorted, in one line; COMP_WORDS as readline
# makes them, if nothing is quoted
replies() {
    local line=$1 rest=$1
    COMP_LINE=$line
    COMP_POINT=${#line}
    COMP_WORDS=()
    while [[ $rest =~ ^[[:blank:]]*([=:]+|[^=:[:blank:]]+) ]]; do
        COMP_WORDS+=("${BASH_REMATCH[1]}")
        rest=${rest:${#BASH_REMATCH[0]}}
    done
    [[ $line != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    OPTS=
    "_cannoli_for_${COMP_WORDS[0]##*/}"
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' ')
    got=${got% }
}

# gives LINE WORD...: these are the replies
gives() {
    replies "$1"
    [ "$got" = "${*:2}" ] || fail "'$1': '$got', not '${*:2}'"
}

# Every long option of --help, with = if it needs an argument
for program in $programs; do
    "$BIN/$program" --help | grep -oE '(^  -., |^      )--[a-z-]+(=|\[)?' | grep -oE -- '--[a-z-]+=?' |
        sort >in_help
    [ "$(wc -l <in_help)" -ge 5 ] || fail "$program: no options in --help"
    replies "$program --"
    printf '%s\n' "${COMPREPLY[@]}" | sort >completed
    same in_help completed "$program: options of --help (<) and of completion (>)"
    for shell in bash zsh fish; do
        "$BIN/$program" --completion=$shell >script
        ! diff script "$SRC/completions/completion.$shell" | grep -q '^>' ||
            fail "$program --completion=$shell: not all of completions/completion.$shell"
        [ $shell != bash ] || continue
        sed -n "s/^complete -c $program -l \([a-z-]*\) .*/--\1/p; s/^ *'\*'.*\(--[a-z-]*\)[=}\$].*'\$/\1/p" script |
            sort >completed
        sed 's/=$//' in_help | sort >names
        same names completed "$shell, $program: options of --help (<) and of completion (>)"
    done
done

# Options and their words
gives 'tracedump --summ' --summary
[ -z "$OPTS" ] || fail "options of readline: $OPTS"
gives 'tracedump --last-w' --last-write-before=
[ "$OPTS" = 'nospace ' ] || fail "a blank after an option with an argument: $OPTS"
gives 'tracedump --color=' always auto never
gives 'tracedump --color a' always auto
gives 'tracedump --color=n' never
gives 'tracesym -f ch' chrome
gives 'tracesym --calls -f ca' callgrind
gives 'tracecov -kf l' lcov lcov2
gives 'tracecov -kj 2 -f cob' cobertura
gives 'tracesym --cost=s' stores
gives 'tracedump -e m' map mark mem
gives 'tracedump --events=exec,m' exec,map exec,mark exec,mem
gives 'tracedump --events=exec,map,mem,ma' exec,map,mem,mark
gives 'cannoli-record --events ti' time
gives 'cannoli-record --events=r' ram reg
gives 'tracedump --from=c' call: crash # words need no trace
gives 'tracesym --backtrace=' call: crash end mark: syscall:
gives 'tracesym --backtrace=sysc' syscall:
[ "$OPTS" = 'nospace ' ] || fail "a blank after syscall: $OPTS"
gives 'tracedump --from=cr' crash
[ -z "$OPTS" ] || fail "options of readline for a moment: $OPTS"
gives 'tracedump --from e' end
gives 'tracedump --count='
gives 'tracedump --count '
gives 'tracedump --summary=x'
gives 'tracedump --nonsense=x'

# Files
gives 'tracedump s' sample.ctr
[ "$OPTS" = 'filenames ' ] || fail "options of readline for files: $OPTS"
gives 'tracedump ' 'a folder' folder sample.ctr traces
gives 'tracedump fi' file.txt
gives 'tracedump -i -- tra' traces
gives 'tracedump traces/' traces/one.ctr
gives 'tracecov sample.ctr tra' traces
gives 'tracecov @fi' @file.txt
gives 'tracedump sample.ctr > fi' file.txt
gives 'tracesym --output=fi' file.txt
gives 'tracesym -o fi' file.txt
gives 'tracesym --sysroot=' 'a folder' folder traces
gives 'cannoli-record --jitter li' lib.so
gives 'cannoli-record --control=ru' run.ctl

# Sub-commands
gives 'cannoli-ctl ' dump load mark pause resume status unload
gives 'cannoli-ctl -s run.ctl p' pause
gives 'cannoli-ctl --json pause '
gives 'cannoli-ctl mark '
gives 'cannoli-ctl load l' lib.so
gives 'cannoli-ctl dump fi' file.txt
gives 'cannoli-ctl dump file.txt '

# The recorded command: by the package's function, or commands and files
gives 'cannoli-record -e exec -- sha256s' sha256sum
gives 'cannoli-record sha256sum fi' file.txt
gives 'cannoli-record -o t.ctr -- sha256sum --b'
_command_offset() {
    COMPREPLY=("offset:$1")
}
gives 'cannoli-record --events=exec -o t.ctr -- sha256sum --b' offset:7
gives 'cannoli-record -q sha' offset:2
unset -f _command_offset

# Names of the trace, which tracesym --list prints (tracesym-list)
gives 'tracedump sample.ctr -t ' 4242 4243 5000
gives 'tracedump sample.ctr --thread=4242,' 4242,4243 4242,5000
gives 'tracedump sample.ctr -t 4242,' 4242,4243 4242,5000
gives 'tracedump sample.ctr -p 5000,' 5000,4242
gives 'tracecov --pid ' 4242 5000 # the only trace of the folder
cp sample.ctr other.ctr
gives 'tracecov --pid '
rm other.ctr
"$TOOLS/mktrace" system system.ctr || exit 1
gives 'tracesym system.ctr --module ' app libc.so.6
gives 'tracecov system.ctr -f text --module=li' libc.so.6
gives 'tracedump system.ctr --from=syscall:ex' execve exit_group
gives 'tracedump system.ctr --from sysc' syscall:
gives 'tracedump system.ctr --state=syscall:x'
"$TOOLS/mktrace" chosen chosen.ctr || exit 1
gives 'tracedump chosen.ctr --to=mark:r' round
gives 'tracesym chosen.ctr --backtrace mark:n' 'not\ yet\ \"recorded\"\?\[31m'
cc=arm-linux-gnueabi-gcc
if command -v $cc >/dev/null; then
    printf '%s\n' .text '.macro f name' '.type \name, %function' '\name: bx lr' .endm \
        'f main' 'f _ZN2ns1fEi' 'f _Z4makeIiET_S0_' >app.s
    printf '%s\n' .data '.macro o name' '.type \name, %object' '.size \name, 4' '\name: .word 1' .endm \
        '.globl total, _ZN2ns5limitE, _ZTI1A' 'o total' 'o _ZN2ns5limitE' 'o _ZTI1A' 'o hidden' >>app.s
    $cc -nostdlib -static -Wl,-Ttext=0x10400,--build-id=0x1234ab01,-e,main -o app app.s ||
        fail "app.s cannot be built"
    gives 'tracesym --elf=app system.ctr --function=ma' main
    gives 'tracesym --elf=app system.ctr --trace-calls=ma' main
    gives 'tracesym --elf=app system.ctr --trace-calls=main,i' 'main,int\ make\<int\>'
    gives 'tracesym --elf=app system.ctr --backtrace=call:ma' main
    gives 'tracesym --elf=app system.ctr --addr=to' total
    gives 'tracesym --elf=app system.ctr -a total,' total,ns::limit
    gives 'tracesym --elf app system.ctr --function=ns::' f
    gives 'tracesym --elf app system.ctr --function i' 'int\ make\<int\>'
fi

# An interactive bash, which separates words and inserts the replies itself
if command -v python3 >/dev/null; then
    mkdir -p tools
    printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@" >arguments' >tools/tracedump
    chmod +x tools/tracedump
    "$BIN/tracedump" --completion=bash >tracedump.bash
    printf '%s\n' "PATH=$PWD/tools:\$PATH" '. ./tracedump.bash' 'PS1=' 'bind "set bell-style none"' \
        'PROMPT_COMMAND=": >prompt"' >rc
    run 0 python3 "$SRC/tests/cli/terminal.py" \
        --send 'tracedump system.ctr --summ\t --events=exec,me\t --from=sysc\tope\t -p 4242,5\t sam\t\rexit\r' prompt -- \
        bash --noprofile --rcfile rc -i
    printf '%s\n' system.ctr --summary --events=exec,mem --from=syscall:openat -p 4242,5000 sample.ctr >want
    same want arguments "what bash inserts"
fi

# The same in zsh and fish
for shell in zsh fish; do
    command -v $shell >/dev/null || {
        echo "no $shell: its scripts were not run"
        continue
    }
    for program in $programs; do
        "$BIN/$program" --completion=$shell >$program.$shell
        $shell -n $program.$shell || fail "$program: $shell does not read it"
    done
done
# fish_gives LINE WORD...: fish completes the last word of LINE to these, and prints nothing
# else into the terminal
fish_gives() {
    HOME=$PWD fish -N -c "source ${1%% *}.fish; complete -C '$1'" 2>fish.err | cut -f1 | sort | tr '\n' ' ' >got
    [ ! -s fish.err ] || fail "fish: '$1': $(cat fish.err)"
    [ "$(cat got)" = "${*:2} " ] || fail "fish: '$1': '$(cat got)', not '${*:2}'"
}
if command -v fish >/dev/null; then
    fish_gives 'tracedump --hist' --histogram
    fish_gives 'tracedump --histogram=m' --histogram={mnemonic,module}
    fish_gives 'tracedump --events=exec,m' --events=exec,{map,mark,mem}
    fish_gives 'tracedump sam' sample.ctr
    fish_gives 'tracedump sample.ctr --thread=42' --thread={4242,4243}
    fish_gives 'tracedump --from=' --from={call:,crash,end,mark:,syscall:}
    fish_gives 'tracedump system.ctr --from=syscall:ex' --from=syscall:{execve,exit_group}
    fish_gives 'tracedump system.ctr -p 4242,5' 4242,5000
    fish_gives 'tracedump chosen.ctr --to=mark:ro' --to=mark:round
    # options of the recorder before the command
    fish_gives 'cannoli-record --cove' --coverage
    fish_gives 'cannoli-record -q --fo' --follow-exec --for-instructions
    # the command to record: a program, then its arguments
    : >only.data
    printf '#!/bin/sh\n' >onlyprogram
    chmod +x onlyprogram
    for options in '' '-- ' '-o x.ctr -e all -- ' '--output=x.ctr -q '; do
        fish_gives "cannoli-record $options./onlyp" ./onlyprogram
        fish_gives "cannoli-record ${options}cat only.d" only.data
    done
fi
if command -v zsh >/dev/null && command -v python3 >/dev/null; then
    rm -f prompt arguments
    mkdir -p functions
    cp tracedump.zsh functions/_tracedump
    # shellcheck disable=SC2016
    printf '%s\n' "PATH=$PWD/tools:\$PATH" 'fpath=($PWD/functions $fpath)' 'autoload -U compinit' \
        'compinit -u -D' 'unsetopt beep' 'PS1=' 'precmd() { : >prompt }' >.zshrc
    run 0 env ZDOTDIR="$PWD" python3 "$SRC/tests/cli/terminal.py" \
        --send 'tracedump system.ctr --summ\t --events=exec,me\t --from=sysc\tope\t -p 4242,5\t sam\t\rexit\r' prompt -- zsh -i
    same want arguments "what zsh inserts"
fi
finish
