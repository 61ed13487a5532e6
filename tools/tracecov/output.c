/* SPDX-License-Identifier: MIT */
/* Shared by the writers of the formats; see output.h. */
#include "tracecov/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

struct out *out_open(FILE *file)
{
    struct out *o = malloc(sizeof(*o));

    if (o) {
        o->file = file;
        o->error = 0;
        o->scratch = (struct textbuf){0};
        o->n = 0;
    }
    return o;
}

static void write_all(struct out *o, const void *p, size_t n)
{
    errno = 0;
    if (!o->error && n && fwrite(p, 1, n, o->file) != n) {
        o->error = errno ? -errno : -EIO;
    }
}

void out_flush(struct out *o)
{
    write_all(o, o->buf, o->n);
    o->n = 0;
}

int out_close(struct out *o)
{
    int ret;

    out_flush(o);
    errno = 0;
    if (fflush(o->file) && !o->error) {
        o->error = errno ? -errno : -EIO;
    }
    ret = o->error;
    textbuf_fini(&o->scratch);
    free(o);
    return ret;
}

void out_mem(struct out *o, const void *p, size_t n)
{
    if (n > sizeof(o->buf)) {
        out_flush(o);
        write_all(o, p, n);
    } else {
        out_done(o, fmt_mem(out_room(o, n), p, n));
    }
}

static void out_scratch(struct out *o, bool made)
{
    if (!made && !o->error) {
        o->error = -ENOMEM;
    }
    out_mem(o, o->scratch.data, o->scratch.len);
    o->scratch.len = 0;
}

void out_json(struct out *o, const char *s)
{
    out_scratch(o, textbuf_json_string(&o->scratch, s, strlen(s)));
}

void out_markup(struct out *o, const char *s)
{
    out_scratch(o, textbuf_markup(&o->scratch, s, strlen(s)));
}

void out_printf(struct out *o, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n > 0) {
        out_mem(o, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    }
}

void out_grouped(struct out *o, uint64_t v)
{
    char digits[FMT_U64_MAX];
    size_t n = (size_t)(fmt_u64(digits, v) - digits);
    char *p = out_room(o, 32);

    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) {
            *p++ = ',';
        }
        *p++ = digits[i];
    }
    out_done(o, p);
}

unsigned output_permille(uint64_t hit, uint64_t of)
{
    unsigned v;

    if (hit >= of) {
        return 1000;
    }
    if (hit == 0) {
        return 0;
    }
    v = (unsigned)((double)hit * 1000 / (double)of + 0.5);
    return v < 1 ? 1 : v > 999 ? 999 : v;
}

void out_percent(struct out *o, uint64_t hit, uint64_t of)
{
    unsigned v = output_permille(hit, of);

    if (of) {
        out_printf(o, "%u.%u %%", v / 10, v % 10);
    } else {
        out_str(o, "-");
    }
}

size_t output_line_from(const struct report_source *s, uint32_t line)
{
    size_t lo = 0, hi = s->nr_lines;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->lines[mid].line < line) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

size_t output_branch_from(const struct report_source *s, uint32_t line)
{
    size_t lo = 0, hi = s->nr_branches;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->branches[mid].line < line) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

struct output_branches output_branches_of(const struct report_source *s, uint32_t line,
                                          size_t *at)
{
    struct output_branches b = {0};

    while (*at < s->nr_branches && s->branches[*at].line < line) {
        ++*at;
    }
    b.v = s->branches + *at;
    while (*at < s->nr_branches && s->branches[*at].line == line) {
        b.hit += s->branches[*at].reached && s->branches[*at].count != 0;
        b.n++;
        ++*at;
    }
    return b;
}
