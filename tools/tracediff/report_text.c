/* SPDX-License-Identifier: MIT */
/*
 * A difference as text: both sides next to each other, as diff -y shows two files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/machine.h"
#include "report.h"
#include "rows.h"
#include "writes.h"

#define ORDINAL_WIDTH 10u

/* One row of one side; NULL: nothing there. */
struct cell {
    const struct lines *lines;
    const struct line *line;
};

/* ---------------------------------------------------------------------- cells */

/* The text of a cell without padding. */
static bool cell_text(struct textbuf *b, const struct cell *c)
{
    const struct line *l = c->line;
    const char *text = c->lines->text.data;

    switch (l->kind) {
    case LINE_INSN:
        return textbuf_printf(b, "%*" PRIu64 " ", (int)ORDINAL_WIDTH, l->ordinal) &&
               rows_field(b, text + l->place, l->place_n, 40, 20) &&
               textbuf_printf(b, " ") && textbuf_printable(b, text + l->text, l->n) &&
               textbuf_printable(b, text + l->source, l->source_n);
    case LINE_ACCESS:
        return textbuf_printf(b, "%*s   ", (int)ORDINAL_WIDTH, "") &&
               textbuf_printable(b, text + l->text, l->n);
    default:
        return textbuf_printf(b, "%*s ", (int)ORDINAL_WIDTH, "") &&
               textbuf_printable(b, text + l->text, l->n);
    }
}

/* A row of two cells. */
static bool put_row(struct report *r, const struct cell *a, const struct cell *b,
                    char sign)
{
    struct textbuf left = {0}, right = {0};
    bool ok = (!a->line || cell_text(&left, a)) && (!b->line || cell_text(&right, b)) &&
              rows_put(r, &left, &right, sign);

    textbuf_fini(&left);
    textbuf_fini(&right);
    return ok;
}

/* ----------------------------------------------------------------------- rows */

/* Lines i of a and k of b, up to before the next instruction of each, in rows. */
static bool put_group(struct report *r, const struct lines *a, size_t *i,
                      const struct lines *b, size_t *k, char sign)
{
    bool ok = true, first = true;

    while (ok) {
        struct cell x = {a, NULL}, y = {b, NULL};
        if (*i < a->n && (first || a->v[*i].kind == LINE_ACCESS)) {
            x.line = &a->v[(*i)++];
        }
        if (*k < b->n && (first || b->v[*k].kind == LINE_ACCESS)) {
            y.line = &b->v[(*k)++];
        }
        if (!x.line && !y.line) {
            break;
        }
        ok = put_row(r, &x, &y, sign == ' ' ? ' ' : !x.line ? '>' : !y.line ? '<' : sign);
        first = false;
    }
    return ok;
}

/* All lines of both, with this sign. */
static bool put_lines(struct report *r, const struct lines *a, const struct lines *b,
                      uint64_t ordinal_a, uint64_t ordinal_b, bool code)
{
    size_t i = 0, k = 0;
    bool ok = true;

    while (ok && (i < a->n || k < b->n)) {
        const bool left = i < a->n, right = k < b->n;
        /* Before the difference both have the same lines, but calls may have none. */
        const bool at_a = left && a->v[i].ordinal >= ordinal_a;
        const bool at_b = right && b->v[k].ordinal >= ordinal_b;
        if (left && right && at_a != at_b) {
            struct cell x = {a, at_a ? NULL : &a->v[i++]};
            struct cell y = {b, at_b ? NULL : &b->v[k++]};
            ok = put_row(r, &x, &y, x.line ? '<' : '>');
            continue;
        }
        ok = put_group(r, a, &i, b, &k, (left ? at_a : at_b) && code ? '|' : ' ');
    }
    return ok;
}

/* ----------------------------------------------------------- one instruction */

/* Whether two lines of data are shown as different: their text, but for what is equal by
 * its meaning, is decided by the comparison; here only the line of the difference counts. */
static bool is_line_of(const struct line *l, const struct lines *lines,
                       const struct access *a)
{
    char text[40];
    int n = snprintf(text, sizeof(text), "%c 0x%" PRIx64 "/%" PRIu32,
                     a->what & ACCESS_STORE ? 'w' : 'r', a->addr, access_size(a));

    return l->kind == LINE_ACCESS && l->n >= (size_t)n &&
           !memcmp(lines->text.data + l->text, text, (size_t)n);
}

/* The instruction with the access that differs, or the call; what comes before it. */
static bool put_data(struct report *r, const struct difference *d)
{
    const struct lines *a = &r->lines[0], *b = &r->lines[1];
    size_t i = 0, k = 0;
    bool ok = true;

    while (ok && (i < a->n || k < b->n)) {
        struct cell x = {a, i < a->n ? &a->v[i] : NULL};
        struct cell y = {b, k < b->n ? &b->v[k] : NULL};
        const bool at = (x.line && x.line->ordinal == d->side[0].ordinal) ||
                        (y.line && y.line->ordinal == d->side[1].ordinal);
        char sign = ' ';
        if (x.line && y.line && x.line->kind != y.line->kind) {
            /* One of them has an access or a call that the other has not. */
            const bool left = x.line->kind > y.line->kind;
            sign = left ? '<' : '>';
            x.line = left ? x.line : NULL;
            y.line = left ? NULL : y.line;
        } else if (!x.line || !y.line) {
            sign = x.line ? '<' : '>';
        } else if (at && d->kind == DIFFERENCE_EVENT) {
            sign = x.line->kind == LINE_CALL ? '|' : ' ';
        } else if (at && d->side[0].access && d->side[1].access &&
                   is_line_of(x.line, a, d->side[0].access) &&
                   is_line_of(y.line, b, d->side[1].access)) {
            sign = '|';
        }
        i += x.line != NULL;
        k += y.line != NULL;
        ok = put_row(r, &x, &y, sign);
    }
    return ok;
}

/* Of memory that a call used: some bytes from the first one on that differs.  The line of
 * the call may not show them. */
static bool put_memory(struct report *r, const struct difference *d)
{
    struct textbuf cell[2] = {{0}, {0}};
    struct ctr_usermem m[2];
    const size_t at = d->at;
    bool ok = true;

    for (unsigned i = 0; i < 2; i++) {
        const struct event *e = d->side[i].event;
        const struct ctr_os_event os = {
            .type = e ? e->type : 0, .size = e ? e->size : 0, .payload = d->side[i].data};
        if (!e || ctr_parse_usermem(&os, &m[i])) {
            return true;
        }
    }
    for (unsigned i = 0; ok && i < 2; i++) {
        ok = textbuf_printf(&cell[i], "%*s   memory 0x%" PRIx64 "+%zu/%" PRIu64 ":",
                            (int)ORDINAL_WIDTH, "", m[i].addr, at, m[i].size);
        for (size_t k = at; ok && k < m[i].n && k < at + 8; k++) {
            ok = textbuf_printf(&cell[i], " %02x", m[i].data[k]);
        }
    }
    ok = ok && rows_put(r, &cell[0], &cell[1], '|');
    textbuf_fini(&cell[0]);
    textbuf_fini(&cell[1]);
    return ok;
}

/* ------------------------------------------------------------------ registers */

static const struct ctr_reg *reg_named(const struct ctr_trace *tr, const char *name)
{
    const struct ctr_reg *reg;

    for (uint32_t i = 0; (reg = ctr_trace_reg(tr, i)) != NULL; i++) {
        if (!strcmp(reg->name, name)) {
            return reg;
        }
    }
    return NULL;
}

static bool put_register(struct textbuf *b, const char *name, const uint8_t *v,
                         unsigned n)
{
    bool ok = textbuf_printf(b, "%*s %s=0x", (int)ORDINAL_WIDTH, "", name);

    while (n > 1 && !v[n - 1]) {
        n--;
    }
    while (ok && n--) {
        ok = textbuf_printf(b, "%02x", v[n]);
    }
    return ok;
}

static bool put_note(struct report *r, const char *text)
{
    struct textbuf b = {0};
    const bool ok = textbuf_printf(&b, "%s", text) && rows_note(r, &b);

    textbuf_fini(&b);
    return ok;
}

/* The register that an instruction wrote. */
static bool put_write(struct report *r, const struct difference *d)
{
    struct textbuf cell[2] = {{0}, {0}};
    const struct ctr_reg *reg;
    bool ok = true;

    if (!d->side[0].write) {
        return true;
    }
    reg = ctr_trace_reg(r->side[0]->view, d->side[0].write->reg);
    for (unsigned i = 0; ok && i < 2; i++) {
        ok = put_register(&cell[i], reg->name, d->side[i].data, reg->size);
    }
    ok = ok && rows_put(r, &cell[0], &cell[1], '|');
    textbuf_fini(&cell[0]);
    textbuf_fini(&cell[1]);
    return ok;
}

/* The registers that differ before the instruction. */
static int put_registers(struct report *r, struct pair *p, const struct difference *d)
{
    struct textbuf left = {0}, right = {0};
    uint8_t *v[2] = {NULL, NULL};
    const struct ctr_reg *reg, *other;
    uint64_t pc, time;
    unsigned shown = 0;
    bool ok = true;

    for (unsigned i = 0; i < 2; i++) {
        size_t n = 0;
        while (ctr_trace_reg(r->side[i]->view, (uint32_t)n)) {
            n++;
        }
        v[i] = n ? calloc(n, CTR_REG_STRIDE) : NULL;
        ok = ok && v[i] &&
             !ctr_state_at(r->side[i]->view, p->thread[i]->index, d->side[i].ordinal,
                           v[i], &pc, &time, NULL);
        space_go(&p->space[i], d->side[i].ordinal, true, 0);
    }
    for (uint32_t i = 0; ok && (reg = ctr_trace_reg(r->side[0]->view, i)) != NULL; i++) {
        const uint8_t *a = v[0] + (size_t)i * CTR_REG_STRIDE, *b;
        other = reg_named(r->side[1]->view, reg->name);
        b = other ? v[1] + (size_t)other->index * CTR_REG_STRIDE : NULL;
        if (!b || other->size != reg->size || registers_same(p, a, b, reg->size)) {
            continue;
        }
        left.len = right.len = 0;
        ok = put_register(&left, reg->name, a, reg->size) &&
             put_register(&right, reg->name, b, reg->size) &&
             (shown++ || put_note(r, "registers:")) && rows_put(r, &left, &right, '|');
    }
    textbuf_fini(&left);
    textbuf_fini(&right);
    free(v[0]);
    free(v[1]);
    return 0;
}

/* ------------------------------------------------------------------- the whole */

static bool put_title(struct report *r, struct pair *p, const struct difference *d)
{
    static const char *const what[][2] = {
        {"code", "other instructions"},
        {"end", "one thread ends"},
        {"call", "another system call, result or signal"},
        {"access", "another access"},
        {"address", "another address"},
        {"value", "another value"},
        {"register", "another value of a register"}};
    const char *name = difference_name(d), *text = name;
    char a[THREAD_TEXT], b[THREAD_TEXT];
    struct textbuf line = {0};
    bool ok = true;

    for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
        text = strcmp(what[i][0], name) ? text : what[i][1];
    }
    if (r->gap_more && (d->kind == DIFFERENCE_CODE || d->kind == DIFFERENCE_EVENT)) {
        ok = textbuf_printf(&line, "... %" PRIu64 " more differences of accesses",
                            r->gap_more) &&
             rows_note(r, &line) && rows_gap(r);
        line.len = 0;
    }
    ok = ok &&
         textbuf_printf(
             &line,
             "%" PRIu64 ": %s after %" PRIu64 " equal instructions; a %s at %" PRIu64
             ", b %s at %" PRIu64,
             r->n, text, d->equal,
             tool_thread_text(&r->side[0]->info, p->thread[0]->pid, p->thread[0]->tid, a),
             d->side[0].ordinal,
             tool_thread_text(&r->side[1]->info, p->thread[1]->pid, p->thread[1]->tid, b),
             d->side[1].ordinal) &&
         rows_title(r, &line);
    textbuf_fini(&line);
    return ok;
}

/* How much only one side ran, and where both go on. */
static bool put_again(struct report *r, const struct difference *d)
{
    const struct difference_side *a = &d->side[0], *b = &d->side[1];
    struct textbuf line = {0};
    bool ok;

    if (a->ends || b->ends) {
        ok = textbuf_printf(
            &line, "%c ends here; %c goes on for %" PRIu64 " instructions",
            a->ends ? 'a' : 'b', a->ends ? 'b' : 'a', a->ends ? b->n : a->n);
    } else if (!d->again) {
        ok = textbuf_printf(
            &line,
            "not alike again within %" PRIu64 " instructions of a and %" PRIu64
            " of b: the rest of these threads is not compared (--lookahead)",
            a->n, b->n);
    } else {
        ok = textbuf_printf(&line,
                            "only a: %" PRIu64 " instructions, only b: %" PRIu64
                            "; alike again from a %" PRIu64 ", b %" PRIu64,
                            a->n, b->n, a->ordinal + a->n, b->ordinal + b->n);
    }
    ok = ok && rows_note(r, &line);
    textbuf_fini(&line);
    return ok;
}

/* Reads some instructions from before the difference to after its begin. */
static int read_lines(struct report *r, struct pair *p, const struct difference *d,
                      unsigned *failed, struct ctr_diag *diag)
{
    const uint64_t before = d->equal < r->opt->lines ? d->equal : r->opt->lines;
    int ret = 0;

    for (unsigned i = 0; !ret && i < 2; i++) {
        const struct difference_side *s = &d->side[i];
        const uint64_t low = s->ordinal - p->thread[i]->first < before
                                 ? p->thread[i]->first
                                 : s->ordinal - before;
        const uint64_t n = d->kind != DIFFERENCE_CODE ? 1
                           : s->ends                  ? 0
                           : s->n < r->opt->lines     ? s->n
                                                      : r->opt->lines;
        const uint64_t again = s->ordinal + s->n;
        *failed = i;
        ret = lines_read(&r->lines[i], &r->liner[i], p->thread[i], low, s->ordinal + n,
                         diag);
        if (!ret && d->kind == DIFFERENCE_CODE && d->again) {
            ret = lines_read(&r->after[i], &r->liner[i], p->thread[i], again,
                             again + (r->opt->lines + 1) / 2, diag);
        }
    }
    return ret;
}

int report_text(struct report *r, struct pair *p, const struct difference *d,
                unsigned *failed, struct ctr_diag *diag)
{
    bool ok;
    int ret = read_lines(r, p, d, failed, diag);

    if (ret) {
        return ret;
    }
    ok = put_title(r, p, d);
    if (d->kind != DIFFERENCE_CODE) {
        ok = ok && put_data(r, d) && put_memory(r, d) && put_write(r, d);
    } else {
        ok = ok && put_lines(r, &r->lines[0], &r->lines[1], d->side[0].ordinal,
                             d->side[1].ordinal, true);
        ok = ok && !put_registers(r, p, d) && put_again(r, d);
        ok = ok && (!d->again || put_lines(r, &r->after[0], &r->after[1], UINT64_MAX,
                                           UINT64_MAX, false));
    }
    return ok && rows_gap(r) ? 0 : -CTR_E_NOMEM;
}
