# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# The part of bash's completion that all programs share.  The program's own part sets
# `options', with rows NAME LETTER|- no|yes|maybe KIND [WORD]..., and `commands', with rows
# NAME KIND, and calls _cannoli_complete; functions below use its variables.
#
# KIND    what completes the argument
# text    nothing
# word    one of the WORDs; words: several with commas
# name    what `tracesym --list=WORD TRACE' prints; names: several with commas
# moment  one of the WORDs; of WORD=LIST WORD: and what --list=LIST prints
# file    files; file:*.x: those before others
# dir     folders

# Sets `words', in which = and : do not separate, up to the cursor, and `first', the place of
# each one's first part in COMP_WORDS; `part' is what readline replaces of the last one.
_cannoli_split()
{
    local line=${COMP_LINE:0:COMP_POINT} rest i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:blank:]]*}"}
        part=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || part=$rest
        if ((i == 0)) || [[ $rest != "$line" ]]; then
            words+=("$part")
            first+=("$i")
        else
            words[-1]+=$part
        fi
        line=${rest#"$part"}
    done
    [[ ! $part =~ ^[=:]+$ ]] || part=
}

# Sets `row' to that of an option, without its name and letter; $1: --NAME or -LETTER
_cannoli_option()
{
    for row in "${options[@]}"; do
        if [[ $row == "${1#--} "* || ($1 == -? && ${row#* } == "${1#-} "*) ]]; then
            row=${row#* }
            row=${row#* }
            return
        fi
    done
    row=
}

# Reads the words before the last one: sets `expected' to KIND [WORD]... if the last one is an
# option's argument, `operands' and where the first is, and `ended' after --.
_cannoli_walk()
{
    local i j word row
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ -n $expected ]]; then
            expected=
        elif [[ -z $ended && $word == -- ]]; then
            ended=1
        elif [[ -z $ended && $word == --* ]]; then
            _cannoli_option "$word"
            [[ $row != yes\ * ]] || expected=${row#yes }
        elif [[ -z $ended && $word == -?* ]]; then
            for ((j = 1; j < ${#word}; j++)); do
                _cannoli_option "-${word:j:1}"
                [[ $row == yes\ * ]] || continue
                # its argument is the rest of the word, or else the next one
                ((j < ${#word} - 1)) || expected=${row#yes }
                break
            done
        else
            operands+=("$word")
            place=${place:-$i}
            [[ $1 != command ]] || return
        fi
    done
}

# _cannoli_words PREFIX VALUE WORD...: those that begin with VALUE
_cannoli_words()
{
    local word
    for word in "${@:3}"; do
        [[ $word != "$2"* ]] || COMPREPLY+=("$1$word")
    done
}

# _cannoli_list PREFIX VALUE WORD...: the same for the last item of a list, without those
# that are in it
_cannoli_list()
{
    local last=${2##*,} word
    local before=${2%"$last"}
    compopt -o nospace 2>/dev/null
    for word in "${@:3}"; do
        [[ $word != "$last"* || ,$before == *,"$word",* ]] ||
            COMPREPLY+=("$1$before$word")
    done
}

# _cannoli_files PREFIX VALUE [PATTERN]: files, those of the pattern and folders first
_cannoli_files()
{
    local -a found=()
    compopt -o filenames 2>/dev/null
    if [[ -n ${3-} ]]; then
        mapfile -t found < <(compgen -f -X "!$3" -- "$2"; compgen -d -- "$2")
    fi
    [[ -n ${found[*]} ]] || mapfile -t found < <(compgen -f -- "$2")
    # what is quoted on the line readline finds by itself
    [[ -n ${found[*]} ]] || compopt -o default 2>/dev/null
    COMPREPLY+=("${found[@]/#/$1}")
}

# The trace on the line, or else the only one of the folder
_cannoli_trace()
{
    local word
    local -a here=()
    for word in "${operands[@]}" "${COMP_WORDS[@]:COMP_CWORD+1}"; do
        word=${word//[\\\'\"]/}
        word=${word/#\~\//"$HOME/"}
        if [[ -f $word ]]; then
            printf '%s' "$word"
            return
        fi
    done
    mapfile -t here < <(compgen -f -X '!*.ctr')
    [[ ${#here[@]} -ne 1 ]] || printf '%s' "${here[0]}"
}

# Sets `names' to what a trace has of $1, in that order, quoted for the shell unless the
# user does.
_cannoli_query()
{
    local tool=tracesym trace i
    local -a where=()
    trace=$(_cannoli_trace)
    [[ ${words[0]} != */* ]] || tool=${words[0]%/*}/tracesym
    [[ -n $trace ]] || return
    compopt -o nosort 2>/dev/null
    for ((i = 1; i < ${#words[@]} - 1; i++)); do # where the symbols are
        case ${words[i]} in
        --elf=* | --sysroot=*) where+=("${words[i]}") ;;
        --elf | --sysroot) where+=("${words[i]}=${words[i + 1]}") ;;
        esac
    done
    mapfile -t names < <("$tool" "--list=$1" "${where[@]}" -- "$trace" 2>/dev/null)
    [[ $value == [\'\"]* || ${#names[@]} -eq 0 ]] ||
        mapfile -t names < <(printf '%q\n' "${names[@]}")
}

# _cannoli_moment PREFIX VALUE WORD...: a moment
_cannoli_moment()
{
    local word
    for word in "${@:3}"; do
        if [[ $word != *=* ]]; then
            _cannoli_words "$1" "$2" "$word"
        elif [[ $2 != "${word%=*}:"* ]]; then
            _cannoli_words "$1" "$2" "${word%=*}:"
        else
            _cannoli_query "${word#*=}"
            _cannoli_words "$1${word%=*}:" "${2#*:}" "${names[@]}"
        fi
    done
}

# _cannoli_value PREFIX VALUE KIND [WORD]...: completes an argument
_cannoli_value()
{
    local value=$2
    local -a names=()
    case $3 in
    word) _cannoli_words "$1" "$2" "${@:4}" ;;
    words) _cannoli_list "$1" "$2" "${@:4}" ;;
    name)
        _cannoli_query "$4"
        _cannoli_words "$1" "${2#[\'\"]}" "${names[@]}"
        ;;
    names)
        _cannoli_query "$4"
        _cannoli_list "$1" "${2#[\'\"]}" "${names[@]}"
        ;;
    moment) _cannoli_moment "$1" "${2#[\'\"]}" "${@:4}" ;;
    file) _cannoli_files "$1" "$2" ;;
    file:*) _cannoli_files "$1" "$2" "${3#file:}" ;;
    dir)
        compopt -o filenames 2>/dev/null
        mapfile -t names < <(compgen -d -- "$2")
        COMPREPLY+=("${names[@]/#/$1}")
        ;;
    esac
}

# Long options, with = if they need an argument
_cannoli_names()
{
    local row name
    for row in "${options[@]}"; do
        name=${row%% *}
        row=${row#* }
        [[ ${row#* } != yes\ * ]] || name+='='
        [[ --$name != "$1"* ]] || COMPREPLY+=("--$name")
    done
}

# The recorded command, by its own completion if the package bash-completion is there
_cannoli_command()
{
    local offset=${first[${place:-${#words[@]}-1}]}
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$offset"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$offset"
    elif [[ -n $place || $cur == */* ]]; then
        _cannoli_files '' "$cur"
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -d -S / -- "$cur")
    fi
}

# The argument of a sub-command
_cannoli_subcommand()
{
    local row
    local -a names=()
    for row in "${commands[@]}"; do
        names+=("${row%% *}")
        if [[ ${operands[0]-} == "${row%% *}" && ${#operands[@]} -eq 1 ]]; then
            _cannoli_value '' "$cur" "${row#* }"
        fi
    done
    [[ -n $place ]] || _cannoli_words '' "$cur" "${names[@]}"
}

# _cannoli_complete command|subcommand|trace: sets COMPREPLY
_cannoli_complete()
{
    local part='' expected='' ended='' place='' cur row i
    local -a words=() first=() operands=() kind=()
    COMPREPLY=()
    _cannoli_split
    _cannoli_walk "$1"
    cur=${words[-1]}
    if [[ ${#words[@]} -gt 1 && ${words[-2]} =~ ^[0-9\&]*[\<\>]+$ ]]; then
        _cannoli_files '' "$cur"
    elif [[ -n $expected ]]; then
        read -ra kind <<<"$expected"
        _cannoli_value '' "$cur" "${kind[@]}"
    elif [[ $1 == command && -n $place ]]; then
        _cannoli_command
        return
    elif [[ -z $ended && $cur == --*=* ]]; then
        _cannoli_option "${cur%%=*}"
        read -ra kind <<<"${row#* }"
        [[ -z $row || $row == no\ * ]] || _cannoli_value "${cur%%=*}=" "${cur#*=}" "${kind[@]}"
    elif [[ -z $ended && $cur == -* ]]; then
        _cannoli_names "$cur"
    elif [[ $1 == command ]]; then
        _cannoli_command
        return
    elif [[ $1 == subcommand ]]; then
        _cannoli_subcommand
    elif [[ $cur == @* ]]; then
        _cannoli_files @ "${cur#@}"
    else
        _cannoli_files '' "$cur" '*.ctr'
    fi
    # such a word is not finished
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace 2>/dev/null
    # readline replaces no more than the last part
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"${cur%"$part"}"}
    done
}
