/* SPDX-License-Identifier: MIT */
/*
 * The parser of options.h: getopt_long driven by the tool's table.  It prints its own
 * messages, so that every mistake gives one line in the same form.
 */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/completion.h"
#include "common/options_elsewhere.h"
#include "common/textbuf.h"

static bool is_optional(const struct tool_option *t)
{
    return t->arg && t->arg[0] == '[';
}

static int options_init(struct tool_options *o)
{
    size_t n = 0, s = 0;

    while (o->table[n].key || o->table[n].help) {
        n++;
    }
    o->longopts = calloc(n + 1, sizeof(*o->longopts));
    o->shortopts = calloc(3 * n + 3, 1);
    if (!o->longopts || !o->shortopts) {
        tool_error(o->prog, "out of memory");
        return -1;
    }
    if (o->stop_at_operand) {
        o->shortopts[s++] = '+';
    }
    o->shortopts[s++] = ':'; /* distinguishes a missing argument from a bad option */
    for (size_t i = 0; i < n; i++) {
        const struct tool_option *t = &o->table[i];
        if (!t->key) {
            continue;
        }
        if (t->key < TOOL_OPT_LONG) {
            o->shortopts[s++] = (char)t->key;
            if (t->arg) {
                o->shortopts[s++] = ':';
            }
            if (is_optional(t)) {
                o->shortopts[s++] = ':';
            }
        }
        o->longopts[o->nopt++] = (struct option){
            .name = t->name,
            .has_arg = is_optional(t) ? optional_argument
                       : t->arg       ? required_argument
                                      : no_argument,
            .val = t->key,
        };
    }
    opterr = 0;
    optind = 1;
    return 0;
}

static const struct tool_option *option_of_key(const struct tool_options *o, int key)
{
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        if (t->key == key && key) {
            return t;
        }
    }
    return NULL;
}

/* A long option that getopt did not know, or that abbreviates several ones. */
static void reject_long(const struct tool_options *o, const char *word)
{
    size_t rows = 0, len = strcspn(word + 2, "="), n = 0;
    char list[256] = "";
    const char *elsewhere, *nearest;

    for (; o->table[rows].key || o->table[rows].help; rows++) {
        const char *name = o->table[rows].name;
        if (name && !strncmp(name, word + 2, len) && n < sizeof(list)) {
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s--%s", n ? ", " : "",
                                  name);
        }
    }
    if (n) {
        tool_usage_error(o->prog, "option '--%.*s' is ambiguous: %s", (int)len, word + 2,
                         list);
        return;
    }
    elsewhere = options_elsewhere(word + 2, len);
    if (elsewhere) {
        tool_usage_error(o->prog, "unknown option '--%.*s': %s it", (int)len, word + 2,
                         elsewhere);
        return;
    }
    nearest = words_nearest(
        &(struct words){"option", &o->table[0].name, sizeof(o->table[0]), rows}, word + 2,
        len);
    tool_usage_error(o->prog, "unknown option '--%.*s'%s%s%s", (int)len, word + 2,
                     nearest ? " (did you mean '--" : "", nearest ? nearest : "",
                     nearest ? "'?)" : "");
}

int tool_options_next(struct tool_options *o)
{
    const struct tool_option *t;
    int before, key;

    if (!o->longopts && options_init(o) < 0) {
        return TOOL_OPTIONS_ERROR;
    }
    before = optind;
    key = getopt_long(o->argc, o->argv, o->shortopts, o->longopts, NULL);
    o->arg = optarg;
    switch (key) {
    case -1:
        return TOOL_OPTIONS_END;
    case ':':
        t = option_of_key(o, optopt);
        tool_usage_error(o->prog, "option '--%s' needs an argument: %s", t->name, t->arg);
        return TOOL_OPTIONS_ERROR;
    case '?':
        /* optopt: an unknown letter, a flag that was given an argument, or 0 for
         * a long name, which is the word before optind. */
        t = option_of_key(o, optopt);
        if (t) {
            tool_usage_error(o->prog, "option '--%s' takes no argument", t->name);
        } else if (optopt) {
            tool_usage_error(o->prog, "unknown option '-%c'", optopt);
        } else {
            reject_long(o, o->argv[optind > before ? optind - 1 : before]);
        }
        return TOOL_OPTIONS_ERROR;
    default:
        return key;
    }
}

int tool_options_parse(struct tool_options *o,
                       bool (*parse)(void *arg, int key, const char *value), void *arg,
                       const char **path)
{
    const char *last_arg = NULL;
    int key, last = 0;

    *path = NULL;
    for (; (key = tool_options_next(o)) != TOOL_OPTIONS_END; last = key) {
        switch (key) {
        case TOOL_OPTIONS_ERROR:
            return TOOL_USAGE;
        case TOOL_OPT_HELP:
            tool_options_help(o, stdout);
            return TOOL_OK;
        case TOOL_OPT_VERSION:
            tool_print_version(o->prog);
            return TOOL_OK;
        case TOOL_OPT_COMPLETION:
            return tool_print_completion(o);
        default:
            if (!parse(arg, key, o->arg)) {
                return tool_bad_argument(o, key);
            }
            last_arg = o->arg;
        }
    }
    if (optind == o->argc && last_arg && last_arg == o->argv[o->argc - 1]) {
        return tool_usage_error(o->prog,
                                "no trace file given: '%s' is the argument of '%s'",
                                last_arg, tool_option_name(o, last));
    }
    if (optind == o->argc) {
        return tool_usage_error(o->prog, "no trace file given ('-' is standard input)");
    }
    if (optind + 1 < o->argc) {
        return tool_usage_error(o->prog, "more than one trace file given: '%s' and '%s'",
                                o->argv[optind], o->argv[optind + 1]);
    }
    *path = o->argv[optind];
    return TOOL_OK;
}

/*
 * Reads a number at `text': decimal, or hexadecimal after 0x; no sign, no
 * blank.  Returns the end of the number, or NULL.
 */
static const char *number_at(const char *text, uint64_t *value)
{
    unsigned base = 10;
    uint64_t v = 0;
    const char *p = text;

    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        base = 16;
        p += 2;
    }
    const char *first = p;
    for (;; p++) {
        unsigned digit;
        if (*p >= '0' && *p <= '9') {
            digit = (unsigned)(*p - '0');
        } else if (base == 16 && *p >= 'a' && *p <= 'f') {
            digit = (unsigned)(*p - 'a') + 10;
        } else if (base == 16 && *p >= 'A' && *p <= 'F') {
            digit = (unsigned)(*p - 'A') + 10;
        } else {
            break;
        }
        if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, digit, &v)) {
            return NULL;
        }
    }
    *value = v;
    return p == first ? NULL : p;
}

/* Whether a text is a range of two numbers that ends where it begins, or before. */
static bool is_reversed(const char *text)
{
    uint64_t from, to;
    const char *p = number_at(text, &from);

    p = p && *p == '-' ? number_at(p + 1, &to) : NULL;
    return p && !*p && to <= from;
}

int tool_bad_argument(struct tool_options *o, int key)
{
    const struct tool_option *t = option_of_key(o, key);

    for (const char *list = o->arg; t && t->words && list;) {
        const char *item = list;
        if (words_next(t->words, &list) == t->words->n) {
            return tool_unknown_word(o->prog, t->words, item, strcspn(item, ","));
        }
    }
    if (t && t->arg && !strcmp(t->arg, "MOMENT")) {
        return tool_usage_error(o->prog,
                                "bad argument '%s' for option '%s', which takes 1234, "
                                "1.5s, end, crash, call:FUNCTION, syscall:NAME or "
                                "mark:TEXT",
                                o->arg, tool_option_name(o, key));
    }
    return tool_usage_error(
        o->prog, "bad argument '%s' for option '%s'%s", o->arg, tool_option_name(o, key),
        is_reversed(o->arg) ? ": the range ends before it begins" : "");
}

void tool_options_fini(struct tool_options *o)
{
    free(o->longopts);
    free(o->shortopts);
    o->longopts = NULL;
    o->shortopts = NULL;
    o->nopt = 0;
}

const char *tool_option_name(struct tool_options *o, int key)
{
    const struct tool_option *t = option_of_key(o, key);

    snprintf(o->name, sizeof(o->name), "--%s", t ? t->name : "?");
    return o->name;
}

/* Columns of --help: of a terminal, and before the texts. */
#define HELP_COLUMNS 80
#define HELP_INDENT 28

/* Prints the words of a text from column HELP_INDENT on, and ends the line. */
static void print_wrapped(const char *text, FILE *out)
{
    int column = HELP_INDENT;

    for (const char *p = text + strspn(text, " \n"); *p; p += strspn(p, " \n")) {
        int n = (int)strcspn(p, " \n");

        if (column > HELP_INDENT && column + 1 + n > HELP_COLUMNS) {
            fprintf(out, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", n, p);
        column += n;
        p += n;
    }
    fputc('\n', out);
}

void tool_options_help(const struct tool_options *o, FILE *out)
{
    fprintf(out, "Usage: %s %s\n%s\n", o->prog, o->usage, o->about);
    for (const struct tool_option *t = o->table; t->key || t->help; t++) {
        const char *equals = t->arg && !is_optional(t) ? "=" : "";
        char left[64];
        if (!t->key) {
            fprintf(out, "\n%s:\n", t->help);
            continue;
        }
        if (t->key < TOOL_OPT_LONG) {
            snprintf(left, sizeof(left), "-%c, --%s%s%s", t->key, t->name, equals,
                     t->arg ? t->arg : "");
        } else {
            snprintf(left, sizeof(left), "    --%s%s%s", t->name, equals,
                     t->arg ? t->arg : "");
        }
        fprintf(out, "  %-24s", left);
        fprintf(out, "%s%*s", strlen(left) > 24 ? "\n" : "",
                strlen(left) > 24 ? HELP_INDENT : 2, "");
        print_wrapped(t->help, out);
    }
}

void tool_print_version(const char *prog)
{
    printf("%s (cannoli) %s\n", prog, CANNOLI_VERSION);
}

int tool_print_completion(struct tool_options *o)
{
    return completion_print(o, o->arg, stdout)
               ? TOOL_OK
               : tool_bad_argument(o, TOOL_OPT_COMPLETION);
}

int tool_close_stdout(const char *prog, const char *name, int status)
{
    int error = fflush(stdout) ? errno : 0;

    /* A descriptor that was never open is no failure; an interrupted close did close. */
    if (close(STDOUT_FILENO) < 0 && errno != EBADF && errno != EINTR && !error) {
        error = errno;
    }
    if (!error || error == EPIPE || status == TOOL_FAILED || status == TOOL_USAGE) {
        return status;
    }
    tool_error(prog, "%s: %s", name ? name : "standard output", strerror(error));
    return TOOL_FAILED;
}

/* Messages contain names from untrusted traces and files: characters that control a
 * terminal become '?'. */
static void print_printable(const char *fmt, va_list ap)
{
    char text[4096];
    size_t n;

    vsnprintf(text, sizeof(text), fmt, ap);
    n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        putc(text_is_control(text, i, n) ? '?' : text[i], stderr);
    }
}

void tool_error(const char *prog, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "%s: ", prog);
    print_printable(fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

int tool_usage_error(const char *prog, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "%s: ", prog);
    print_printable(fmt, ap);
    fprintf(stderr, ". Try '%s --help'.\n", prog);
    va_end(ap);
    return TOOL_USAGE;
}

int tool_unknown_word(const char *prog, const struct words *w, const char *text,
                      size_t len)
{
    const char *nearest = words_nearest(w, text, len);
    char list[512] = "";
    size_t n = 0;

    for (size_t i = 0; i < w->n && n < sizeof(list); i++) {
        if (words_at(w, i)) {
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
                                  words_at(w, i));
        }
    }
    return tool_usage_error(prog, "unknown %s '%.*s'%s%s%s; known: %s", w->what, (int)len,
                            text, nearest ? " (did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?)" : "", list);
}

bool tool_parse_u64(const char *text, uint64_t *value)
{
    const char *end = number_at(text, value);
    return end && !*end;
}

bool tool_parse_jobs(const char *text, unsigned *jobs)
{
    uint64_t v;

    if (!tool_parse_u64(text, &v) || v < 1 || v > 1024) {
        return false;
    }
    *jobs = (unsigned)v;
    return true;
}

/* Reads one range at `text'; its end is exclusive as in struct ctr_range. */
static const char *range_at(const char *text, struct ctr_range *r)
{
    const char *p = number_at(text, &r->from);
    uint64_t length = 1;

    r->process = 0;
    if (p && *p == '-') {
        p = number_at(p + 1, &r->to);
        return p && r->to > r->from ? p : NULL;
    }
    if (p && *p == '+') {
        p = number_at(p + 1, &length);
    }
    if (!p || !length || length - 1 > UINT64_MAX - r->from) {
        return NULL;
    }
    /* UINT64_MAX means the end of the address space. */
    r->to = length > UINT64_MAX - r->from ? UINT64_MAX : r->from + length;
    return p;
}

bool tool_parse_ranges(const char *text, struct tool_ranges *list)
{
    do {
        struct ctr_range *v = realloc(list->v, (list->n + 1) * sizeof(*v));
        if (!v) {
            return false;
        }
        list->v = v;
        text = range_at(text, &v[list->n]);
        if (!text) {
            return false;
        }
        list->n++;
    } while (*text++ == ',');
    return !text[-1];
}

bool tool_words_add(struct tool_words *list, const char *word)
{
    const char **v = realloc(list->v, (list->n + 1) * sizeof(*v));

    if (!v) {
        return false;
    }
    list->v = v;
    v[list->n++] = word;
    return true;
}

static const char *const color_names[] = {"auto", "always", "never"};
const struct words tool_color_words = WORDS_OF_STRINGS("choice", color_names);

bool tool_parse_color(const char *text, enum tool_color *color)
{
    size_t i = words_find(&tool_color_words, text, strlen(text));

    *color = (enum tool_color)i;
    return i < tool_color_words.n;
}

bool tool_color_on(enum tool_color color, int fd)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    if (color != TOOL_COLOR_AUTO) {
        return color == TOOL_COLOR_ALWAYS;
    }
    return isatty(fd) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

unsigned tool_default_jobs(void)
{
    cpu_set_t set;
    int n = 1;

    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        n = CPU_COUNT(&set);
    }
    return n < 1 ? 1 : n > 64 ? 64 : (unsigned)n;
}
