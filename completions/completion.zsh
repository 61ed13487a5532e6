# SPDX-License-Identifier: MIT
# The part of zsh's completion that all programs share: what completes arguments.

# The trace on the line, or else the only one of the folder
_cannoli_trace()
{
    local word
    local -a here
    for word in ${(Q)words[2,-1]}; do
        word=${word/#\~\//$HOME/}
        if [[ $word != -* && $word == *.ctr && -f $word ]]; then
            print -r -- $word
            return
        fi
    done
    here=(*.ctr(N))
    if (( $#here == 1 )); then
        print -r -- $here[1]
    fi
}

# Sets `names' to what a trace has of $1.
_cannoli_query()
{
    local tool=tracesym trace=$(_cannoli_trace)
    if [[ $words[1] == */* ]]; then
        tool=${~words[1]%/*}/tracesym
    fi
    local -a where
    where=(${(Q)${(M)words:#--(elf|sysroot)=*}}) # where the symbols are
    names=()
    if [[ -n $trace ]]; then
        names=(${(f)"$($tool --list=$1 $where -- $trace 2>/dev/null)"})
    fi
}

# A name in the trace
_cannoli_name()
{
    local -a names
    local expl
    _cannoli_query $1
    _wanted -V $1 expl ${1%s} compadd -a names
}

# A moment: one of the words; of WORD=LIST WORD: and a name of that list
_cannoli_moment()
{
    local -a items
    local word expl ret=1
    for word in "$@"; do
        if [[ $word == *=* ]] && compset -P "${word%=*}:"; then
            _cannoli_name ${word#*=}
            return
        fi
    done
    items=(${@:#*=*})
    _wanted moments expl moment compadd -a items && ret=0
    items=(${${(M)@:#*=*}%=*})
    _wanted moments expl moment compadd -S : -q -a items && ret=0
    return ret
}

# Several with commas
_cannoli_names()
{
    local -a names
    _cannoli_query $1
    _cannoli_list $names
}

# Words with commas
_cannoli_list()
{
    local -a items
    local expl
    items=("$@")
    compset -P '*,'
    _wanted items expl item compadd -q -S , -a items
}

# One of the words
_cannoli_words()
{
    local -a items
    local expl
    items=("$@")
    _wanted items expl word compadd -a items
}
