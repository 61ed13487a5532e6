/* SPDX-License-Identifier: MIT */
/*
 * Options of tracedump, tracesym and tracecov that not all three have;
 * tests/cli/tool-options.sh compares the table with their --help.
 */
#include "common/options_elsewhere.h"

#include "common/words.h"

static const struct {
    const char *name, *tools;
} options[] = {
    /* clang-format off */
    {"addr", "tracedump and tracesym have"},
    {"backtrace", "tracesym has"},
    {"basenames", "tracesym has"},
    {"bbv", "tracesym has"},
    {"bbv-pcs", "tracesym has"},
    {"by", "tracesym has"},
    {"callers-of", "tracesym has"},
    {"calls", "tracesym has"},
    {"calls-of", "tracesym has"},
    {"cost", "tracesym has"},
    {"depth", "tracesym has"},
    {"diff", "tracesym has"},
    {"diff-pid", "tracesym has"},
    {"diff-thread", "tracesym has"},
    {"disassembly", "tracesym and tracecov have"},
    {"events", "tracedump and tracesym have"},
    {"exclude", "tracecov has"},
    {"existing", "tracecov has"},
    {"expand-limit", "tracedump and tracesym have"},
    {"find", "tracedump and tracesym have"},
    {"first-read-after", "tracedump and tracesym have"},
    {"first-write-after", "tracedump and tracesym have"},
    {"format", "tracesym and tracecov have"},
    {"full-names", "tracesym has"},
    {"function", "tracesym and tracecov have"},
    {"functions", "tracesym has"},
    {"group", "tracedump and tracesym have"},
    {"histogram", "tracedump has"},
    {"icicle", "tracesym has"},
    {"include", "tracecov has"},
    {"info", "tracedump has"},
    {"inlines", "tracesym has"},
    {"inverted", "tracesym has"},
    {"json", "tracedump and tracesym have"},
    {"keep-going", "tracecov has"},
    {"last-read-before", "tracedump and tracesym have"},
    {"last-write-before", "tracedump and tracesym have"},
    {"list", "tracesym has"},
    {"listing", "tracecov has"},
    {"locals", "tracesym has"},
    {"memory", "tracedump has"},
    {"min-percent", "tracesym has"},
    {"min-span", "tracesym has"},
    {"module", "tracesym and tracecov have"},
    {"no-accesses", "tracesym has"},
    {"no-disassembly", "tracedump has"},
    {"no-expand", "tracedump and tracesym have"},
    {"no-modules", "tracedump has"},
    {"output", "tracesym and tracecov have"},
    {"pc", "tracedump and tracesym have"},
    {"phys", "tracedump and tracesym have"},
    {"reads", "tracedump and tracesym have"},
    {"sort", "tracesym has"},
    {"stack", "tracedump has"},
    {"state", "tracedump has"},
    {"statistics", "tracedump and tracesym have"},
    {"strings", "tracedump and tracesym have"},
    {"substitute-path", "tracesym and tracecov have"},
    {"summary", "tracedump has"},
    {"timeline", "tracesym has"},
    {"top", "tracedump has"},
    {"trace-calls", "tracesym has"},
    {"traces-from", "tracecov has"},
    {"within", "tracedump and tracesym have"},
    {"writers", "tracedump has"},
    {"writes", "tracedump and tracesym have"},
    /* clang-format on */
};

const char *options_elsewhere(const char *text, size_t len)
{
    static const struct words names = WORDS_OF_NAMES("option", options);
    const size_t i = words_find(&names, text, len);

    return i < names.n ? options[i].tools : NULL;
}
