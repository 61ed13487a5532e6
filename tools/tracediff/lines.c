/* SPDX-License-Identifier: MIT */
/* Reads some instructions once more and makes text of them; see lines.h. */
#include "lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "syscall/syscall_text.h"

/* Bytes shown of a value that is no number, of a buffer of a call, of a name. */
#define MAX_DATA 16u
#define MAX_STRING 32u
#define MAX_NAME 200u
#define MAX_MEMS 16u

struct reading {
    struct liner *l;
    struct lines *out;
    const struct ctr_thread *thread;
    struct insn_facts *facts;      /* instead of out */
    const struct ctr_block *block; /* whose instructions the disassembler is in */
    unsigned next;                 /* of that block */
    /* the open call */
    struct ctr_os_event call;
    uint8_t *copy; /* of its payload and of its memory */
    size_t ncopy, cap;
    struct {
        size_t at;
        uint32_t size;
    } mem[MAX_MEMS];
    size_t nmem;
    bool open;
};

bool liner_init(struct liner *l, const struct side *side, const struct site_options *site)
{
    *l = (struct liner){.side = side, .site = *site};
    guest_init(&l->guest, &side->info);
    l->disas =
        disas_new(side->info.elf_machine, side->info.big_endian, side->info.target);
    return l->disas != NULL;
}

void liner_fini(struct liner *l)
{
    disas_free(l->disas);
}

void lines_fini(struct lines *l)
{
    free(l->v);
    textbuf_fini(&l->text);
}

static struct line *add_line(struct lines *out, enum line_kind kind, uint64_t ordinal)
{
    struct line *v;

    if (!array_reserve(&out->v, &out->cap, out->n + 1, sizeof(*out->v))) {
        return NULL;
    }
    v = &out->v[out->n++];
    *v = (struct line){.kind = kind, .ordinal = ordinal, .text = out->text.len};
    return v;
}

/* ------------------------------------------------------------- instructions */

/* Disassembles instruction number i of a block; those before it must be seen, too, as some
 * machines have instructions that change the next one. */
static size_t disassemble(struct reading *r, const struct ctr_block *b, unsigned i,
                          char *text)
{
    size_t n = 0;

    if (r->block != b || r->next > i) {
        disas_block(r->l->disas, b->mode);
        r->block = b;
        r->next = 0;
    }
    for (; r->next <= i; r->next++) {
        n = disas_insn(r->l->disas, ctr_block_pc(b, r->next), ctr_block_bytes(b, r->next),
                       ctr_block_len(b, r->next), text);
    }
    return n;
}

static void find_site(struct reading *r, const struct ctr_chunk *chunk, uint64_t ordinal,
                      uint64_t pc, struct site *site)
{
    const struct places *places = r->l->side->places;
    struct place place;
    uint64_t until;
    bool found = places && places_find(places, r->thread->process,
                                       places_time(places, chunk, ordinal, &until),
                                       chunk->end_ns, pc, &place);

    site_find(site, found ? &place : NULL);
}

/* "main+0x4", "libc.so.6+0x1234", "0x10400" */
static bool put_place(struct textbuf *b, const struct site *s, uint64_t pc)
{
    if (s->function) {
        const size_t n = sym_name_bare_length(s->function->name);
        return textbuf_printable(b, s->function->name, n < MAX_NAME ? n : MAX_NAME) &&
               textbuf_printf(b, "+0x%" PRIx64, s->vaddr - s->function->addr);
    }
    if (s->module) {
        return textbuf_printable(b, s->module->name,
                                 strnlen(s->module->name, MAX_NAME)) &&
               textbuf_printf(b, "+0x%" PRIx64, s->vaddr);
    }
    return textbuf_printf(b, "0x%" PRIx64, pc);
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct reading *r = arg;
    char text[DISAS_TEXT_MAX];
    struct site site;
    struct line *line;
    struct textbuf *b;
    bool ok;

    find_site(r, ctr_job_chunk(job), e->ordinal, e->pc, &site);
    if (r->facts) {
        r->facts->site = site;
        r->facts->pc = e->pc;
        r->facts->n = disassemble(r, e->block, e->insn, r->facts->text);
        r->facts->known = true;
        return 0;
    }
    line = add_line(r->out, LINE_INSN, e->ordinal);
    if (!line) {
        return -CTR_E_NOMEM;
    }
    b = &r->out->text;
    line->pc = e->pc;
    line->n = disassemble(r, e->block, e->insn, text);
    ok = textbuf_printable(b, text, line->n);
    line->n = b->len - line->text;
    line->place = b->len;
    ok = ok && put_place(b, &site, e->pc);
    line->place_n = b->len - line->place;
    line->source = b->len;
    if (ok && site.nr_frames && site.frames[0].file) {
        ok = site_source(b, site.frames[0].file, site.frames[0].line, &r->l->site);
    }
    line->source_n = b->len - line->source;
    return ok ? 0 : -CTR_E_NOMEM;
}

static bool put_value(struct textbuf *b, const struct guest *g, const uint8_t *data,
                      uint32_t size)
{
    bool ok = true;

    if (size == 1 || size == 2 || size == 4 || size == 8) {
        return textbuf_printf(b, "=0x%" PRIx64, guest_load(g, data, size));
    }
    ok = textbuf_printf(b, "=");
    for (uint32_t i = 0; ok && i < size && i < MAX_DATA; i++) {
        ok = textbuf_printf(b, "%02x", data[i]);
    }
    return ok && (size <= MAX_DATA || textbuf_printf(b, "..."));
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct reading *r = arg;
    struct guest g = r->l->guest;
    struct line *line;
    struct textbuf *b;
    bool ok;

    (void)job;
    line = r->out ? add_line(r->out, LINE_ACCESS, m->ordinal) : NULL;
    if (!line) {
        return r->out ? -CTR_E_NOMEM : 0;
    }
    g.big_endian = m->big_endian;
    b = &r->out->text;
    ok = textbuf_printf(b, "%c 0x%" PRIx64 "/%" PRIu32, m->store ? 'w' : 'r', m->addr,
                        m->size) &&
         (!m->data || put_value(b, &g, m->data, m->size));
    line->n = b->len - line->text;
    return ok ? 0 : -CTR_E_NOMEM;
}

/* -------------------------------------------------------------------- calls */

/* Keeps the bytes of an event until the call is over. */
static bool keep(struct reading *r, const struct ctr_os_event *e, size_t *at)
{
    if (!array_reserve(&r->copy, &r->cap, r->ncopy + e->size, 1)) {
        return false;
    }
    *at = r->ncopy;
    if (e->size) {
        memcpy(r->copy + r->ncopy, e->payload, e->size);
    }
    r->ncopy += e->size;
    return true;
}

/* "read(3, "abc", 10) = 3"; ret: NULL if it did not return. */
static int put_call(struct reading *r, const struct ctr_os_event *ret)
{
    struct syscall_shown_arg arg[SYSCALL_MAX_ARGS];
    struct syscall_mem mem[MAX_MEMS];
    struct textbuf args = {0};
    struct textbuf *b = &r->out->text;
    struct ctr_syscall begun, ended;
    struct syscall_call c = {.guest = &r->l->guest, .string_max = MAX_STRING, .mem = mem};
    struct line *line;
    struct ctr_str name;
    size_t from = 0;
    bool ok = true;
    int n;

    r->open = false;
    r->call.payload = r->copy;
    line = add_line(r->out, LINE_CALL, r->call.ordinal);
    if (!line || ctr_parse_syscall(&r->call, &begun)) {
        return line ? 0 : -CTR_E_NOMEM;
    }
    for (size_t i = 0; i < r->nmem; i++) {
        const struct ctr_os_event e = {.type = CTR_EVENT_USERMEM,
                                       .size = r->mem[i].size,
                                       .payload = r->copy + r->mem[i].at};
        struct ctr_usermem m;
        if (!ctr_parse_usermem(&e, &m)) {
            mem[c.n_mem++] = (struct syscall_mem){.addr = m.addr,
                                                  .size = m.size,
                                                  .data = m.data,
                                                  .n = m.n,
                                                  .write = m.flags & CTR_USERMEM_WRITE,
                                                  .string = m.flags & CTR_USERMEM_STRING};
        }
    }
    name = syscall_name(&r->l->guest, &begun);
    c.desc = syscall_find(name.p, name.n);
    c.name = name.p;
    c.name_len = name.n;
    memcpy(c.args, begun.args, sizeof(c.args));
    if (ret && !ctr_parse_syscall(ret, &ended)) {
        c.returned = true;
        c.result = ended.result;
    }
    ok = name.n ? textbuf_printable(b, name.p, name.n)
                : textbuf_printf(b, "syscall_%" PRIu32, begun.nr);
    n = ok ? syscall_put_args(&args, &c, arg) : -1;
    ok = ok && n >= 0 && textbuf_printf(b, "(");
    for (int i = 0; ok && i < n; i++) {
        ok = textbuf_printf(b, "%s", i ? ", " : "") &&
             textbuf_printable(b, args.data + from, arg[i].end - from);
        from = arg[i].end;
    }
    ok = ok && textbuf_printf(b, ") = ") && syscall_put_result(b, &c);
    line->n = b->len - line->text;
    textbuf_fini(&args);
    return ok ? 0 : -CTR_E_NOMEM;
}

static int put_signal(struct reading *r, const struct ctr_os_event *e)
{
    char name[GUEST_SIGNAL_MAX];
    struct textbuf *b = &r->out->text;
    struct ctr_signal s;
    struct line *line;

    if (ctr_parse_signal(e, &s)) {
        return 0;
    }
    line = add_line(r->out, LINE_CALL, e->ordinal);
    if (!line || !textbuf_printf(b, "--- %s at 0x%" PRIx64 " ---",
                                 guest_signal_name(&r->l->guest, s.signo, name), s.pc)) {
        return -CTR_E_NOMEM;
    }
    line->n = b->len - line->text;
    return 0;
}

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct reading *r = arg;
    size_t at;
    int ret = 0;

    (void)job;
    if (!r->out) {
        return 0;
    }
    switch (e->type) {
    case CTR_EVENT_SYSCALL:
        ret = r->open ? put_call(r, NULL) : 0;
        r->call = *e;
        r->ncopy = r->nmem = 0;
        r->open = true;
        return ret ? ret : keep(r, e, &at) ? 0 : -CTR_E_NOMEM;
    case CTR_EVENT_USERMEM:
        if (!r->open || r->nmem == MAX_MEMS) {
            return 0;
        }
        if (!keep(r, e, &at)) {
            return -CTR_E_NOMEM;
        }
        r->mem[r->nmem].at = at;
        r->mem[r->nmem++].size = e->size;
        return 0;
    case CTR_EVENT_SYSRET:
        return r->open ? put_call(r, e) : 0;
    case CTR_EVENT_SIGNAL:
        ret = r->open ? put_call(r, NULL) : 0;
        return ret ? ret : put_signal(r, e);
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------ reading */

static int read_range(struct reading *r, uint64_t from, uint64_t to,
                      struct ctr_diag *diag)
{
    const struct ctr_replay_ops ops = {.exec = on_exec, .mem = on_mem, .os = on_event};
    const uint32_t thread = r->thread->index;
    const struct ctr_filter filter = {.from = from,
                                      .to = to,
                                      .kinds = CTR_KIND_EXEC | CTR_KIND_LOAD |
                                               CTR_KIND_STORE | CTR_KIND_SYS,
                                      .threads = &thread,
                                      .nthread = 1};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    int ret = 0;

    if (from < to) {
        ret = ctr_replay(r->l->side->view, &ops, r, &opts, diag);
    }
    if (!ret && r->open) {
        ret = put_call(r, NULL);
    }
    free(r->copy);
    return ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED ? 0 : ret;
}

int lines_read(struct lines *out, struct liner *l, const struct ctr_thread *t,
               uint64_t from, uint64_t to, struct ctr_diag *diag)
{
    struct reading r = {.l = l, .out = out, .thread = t};

    out->n = out->text.len = 0;
    return read_range(&r, from, to, diag);
}

int insn_facts_read(struct insn_facts *out, struct liner *l, const struct ctr_thread *t,
                    uint64_t ordinal, struct ctr_diag *diag)
{
    struct reading r = {.l = l, .facts = out, .thread = t};

    out->known = false;
    return read_range(&r, ordinal, ordinal + 1, diag);
}
