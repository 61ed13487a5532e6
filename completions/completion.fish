# SPDX-License-Identifier: MIT
# The part of fish's completion that all programs share: what completes arguments.

# The trace on the line, or else the only one of the folder
function __cannoli_trace
    set -l here *.ctr
    for word in (commandline -po)
        if string match -q -- '*.ctr' $word; and test -f $word
            echo $word
            return
        end
    end
    if test (count $here) -eq 1
        echo $here
    end
end

# What a trace has of $argv[1], one a line
function __cannoli_query
    set -l tool tracesym
    set -l program (commandline -poc)[1]
    set -l trace (__cannoli_trace)
    if string match -q -- '*/*' $program
        set tool (string replace -r -- '[^/]*$' '' $program)tracesym
    end
    # where the symbols are
    set -l where (commandline -poc | string match -r -- '^--(?:elf|sysroot)=.*')
    if test -n "$trace"
        $tool --list=$argv[1] $where -- $trace 2>/dev/null
    end
end

# A moment: one of $argv; of WORD=LIST WORD: and a name of that list
function __cannoli_moment
    set -l value (commandline -ct | string replace -r -- '^(--[^=]*=)?[\'"]?' '')
    for word in $argv
        set -l pair (string split -m 1 = $word)
        if not set -q pair[2]
            echo $word
        else if string match -q -- "$pair[1]:*" $value
            set -l names (__cannoli_query $pair[2])
            set -q names[1]; and printf '%s\n' $pair[1]:$names
        else
            echo $pair[1]:
        end
    end
end

# The words after what the list on the line has already
function __cannoli_list
    set -l before (commandline -ct | string replace -r -- '^--[^=]*=' '' | string match -r -- '^.*,')
    printf '%s\n' "$before"$argv
end

# The command line after the options, of which $argv take the next word
function __cannoli_command
    set -l words (commandline -poc)
    set -e words[1]
    while set -q words[1]
        set -l word $words[1]
        if not string match -q -- '-*' $word
            break
        end
        set -e words[1]
        if test "$word" = --
            break
        end
        if contains -- $word $argv; and set -q words[1]
            set -e words[1]
        end
    end
    set -l line (string join ' ' -- (string escape -- $words) (commandline -ct))
    # An option of ours, which fish completes itself, is no command.
    if not string match -q -- '-*' $line
        complete -C "$line"
    end
end
