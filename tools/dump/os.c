/* SPDX-License-Identifier: MIT */
/*
 * Events of the system, as text and as JSON: system calls as strace shows them,
 * signals, mappings, threads.
 */
#include "dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "input/args.h"

#define CODE_EXITED 1 /* CLD_EXITED, on all machines */

/* Bytes of a program's arguments that text shows. */
#define ARGS_TEXT 200u

/* Limit of memory events of one call that are used for its arguments. */
#define MAX_PIECES 65536u

static bool put_json(struct textbuf *b, const char *name, const char *s, size_t n)
{
    return textbuf_printf(b, ",\"%s\":", name) && textbuf_json_string(b, s, n);
}

/* A path or name that is not an argument of a call: without quotes if it needs none. */
static bool put_path(struct textbuf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] <= 0x20 || (unsigned char)s[i] >= 0x7f || s[i] == '"' ||
            s[i] == '\\') {
            return syscall_put_quoted(b, (const uint8_t *)s, n, false);
        }
    }
    return textbuf_printf(b, "%.*s", (int)n, s);
}

/* ----------------------------------------------------------- system calls */

/* Collects the memory events of a call; false: no memory. */
static bool collect_memory(struct os_printer *p, const char *raw, size_t len, size_t pos,
                           size_t *count)
{
    struct ctr_os_event e = {0};
    struct ctr_usermem m;

    *count = 0;
    while (*count < MAX_PIECES && call_load(raw, len, &pos, &e)) {
        if (ctr_parse_usermem(&e, &m) != 0) {
            continue;
        }
        if (*count == p->mem_cap) {
            size_t cap = p->mem_cap ? 2 * p->mem_cap : 64;
            struct syscall_mem *mem = realloc(p->mem, cap * sizeof(*mem));
            if (!mem) {
                return false;
            }
            p->mem = mem;
            p->mem_cap = cap;
        }
        p->mem[(*count)++] = (struct syscall_mem){
            .addr = m.addr,
            .size = m.size,
            .data = m.data,
            .n = m.n,
            .write = m.flags & CTR_USERMEM_WRITE,
            .string = m.flags & CTR_USERMEM_STRING,
        };
    }
    return true;
}

static bool put_memory_json(struct os_printer *p, const struct syscall_mem *m)
{
    return textbuf_printf(
               &p->out, "\"op\":\"%s\",\"addr\":\"0x%" PRIx64 "\",\"size\":%" PRIu64 "%s",
               m->write ? "write" : "read", m->addr, m->size,
               m->string ? ",\"string\":true" : "") &&
           os_put_data(p, m->data, m->n);
}

static bool put_call_json(struct os_printer *p, const struct syscall_call *c, uint32_t nr,
                          const struct syscall_shown_arg *arg, int n)
{
    struct textbuf *b = &p->out;
    unsigned error = syscall_error(c);
    bool ok = textbuf_printf(b, ",\"nr\":%u", nr) &&
              put_json(b, "name", c->name, c->name_len) &&
              textbuf_printf(b, ",\"args\":[");

    for (int i = 0; ok && i < n; i++) {
        ok = textbuf_printf(b, "%s%" PRIu64, i ? "," : "", arg[i].value);
    }
    ok = ok && textbuf_printf(b, "],\"text\":[");
    for (int i = 0; ok && i < n; i++) {
        size_t from = i ? arg[i - 1].end : 0;
        ok = textbuf_printf(b, i ? "," : "") &&
             textbuf_json_string(b, p->args.data + from, arg[i].end - from);
    }
    ok = ok && textbuf_printf(b, "]");
    if (ok && error) {
        const char *name = guest_errno_name(&p->guest, error);
        ok = textbuf_printf(b, ",\"result\":-1") &&
             (!name || put_json(b, "errno", name, strlen(name))) &&
             textbuf_printf(b, ",\"errno_number\":%u", error);
    } else if (ok && c->returned && !c->no_result) {
        ok = syscall_result_is_address(c)
                 ? textbuf_printf(b, ",\"result\":%" PRIu64,
                                  guest_word(&p->guest, (uint64_t)c->result))
                 : textbuf_printf(b, ",\"result\":%" PRId64, c->result);
    }
    if (ok && c->n_mem) {
        ok = textbuf_printf(b, ",\"memory\":[");
        for (size_t i = 0; ok && i < c->n_mem; i++) {
            ok = textbuf_printf(b, i ? ",{" : "{") && put_memory_json(p, &c->mem[i]) &&
                 textbuf_printf(b, "}");
        }
        ok = ok && textbuf_printf(b, "]");
    }
    return ok && textbuf_printf(b, "}\n");
}

static bool call_touches(const struct os_printer *p, const struct syscall_call *c,
                         const struct ctr_thread *thread)
{
    bool touches = false;

    for (size_t i = 0; !touches && i < c->n_mem; i++) {
        const struct syscall_mem *m = &c->mem[i];
        touches = os_touches(p->opt, thread, m->addr, m->size, m->write);
    }
    return touches;
}

bool os_print_call(struct os_printer *p, const struct open_call *open,
                   const struct ctr_os_event *ret)
{
    struct ctr_os_event e = {0};
    struct ctr_syscall s = {0}, r = {0};
    struct syscall_call c = {.guest = &p->guest, .string_max = p->opt->string_max};
    struct syscall_shown_arg arg[SYSCALL_MAX_ARGS];
    struct ctr_str name;
    char number[32]; /* the name of a call without one */
    size_t pos = open->depth ? open->at[open->depth - 1] : open->raw.len;
    bool begun = call_load(open->raw.data, open->raw.len, &pos, &e), ok;
    int n;

    if (p->opt->signals_only) {
        return true;
    }
    if (begun && ctr_parse_syscall(&e, &s) != 0) {
        begun = false;
    }
    if (ret && ctr_parse_syscall(ret, &r) != 0) {
        ret = NULL;
    }
    if (begun) {
        e.thread = ret ? ret->thread : open->thread;
    } else if (ret) {
        e = *ret;
        s = r;
    } else {
        return true;
    }
    name = syscall_name(&p->guest, &s);
    snprintf(number, sizeof(number), "syscall_%u", s.nr);
    c.name = name.n ? name.p : number;
    c.name_len = name.n ? name.n : strlen(number);
    c.desc = syscall_find(c.name, c.name_len);
    memcpy(c.args, s.args, sizeof(c.args));
    c.returned = ret != NULL;
    c.no_result = ret && (r.flags & CTR_SYSCALL_NORETURN);
    c.result = r.result;
    if (!collect_memory(p, open->raw.data, open->raw.len, pos, &c.n_mem)) {
        return false;
    }
    c.mem = p->mem;
    if (p->touching && !call_touches(p, &c, e.thread)) {
        return true;
    }
    p->args.len = 0;
    n = syscall_put_args(&p->args, &c, arg);
    if (n < 0 || !os_put_start(p, "syscall", &e)) {
        return false;
    }
    if (p->opt->json) {
        if (p->opt->times && begun && ret && e.time_ns && ret->time_ns >= e.time_ns &&
            !textbuf_printf(&p->out, ",\"duration\":%.9f",
                            (double)(ret->time_ns - e.time_ns) / 1e9)) {
            return false;
        }
        return put_call_json(p, &c, s.nr, arg, n);
    }
    ok = put_path(&p->out, c.name, c.name_len) && textbuf_printf(&p->out, "(");
    for (int i = 0; ok && i < n; i++) {
        size_t from = i ? arg[i - 1].end : 0;
        ok = textbuf_printf(&p->out, "%s%.*s", i ? ", " : "", (int)(arg[i].end - from),
                            p->args.data + from);
    }
    ok = ok && textbuf_printf(&p->out, ") = ") && syscall_put_result(&p->out, &c);
    if (ok && p->opt->times && begun && ret && e.time_ns && ret->time_ns >= e.time_ns) {
        ok = textbuf_printf(&p->out, " <%.6f>", (double)(ret->time_ns - e.time_ns) / 1e9);
    }
    return ok && textbuf_printf(&p->out, "\n");
}

/* The start of an event about memory; in JSON all of it. */
static bool put_memory_start(struct os_printer *p, const char *kind,
                             const struct ctr_os_event *e, const struct syscall_mem *m)
{
    return os_put_start(p, kind, e) &&
           (!p->opt->json || (textbuf_printf(&p->out, ",") && put_memory_json(p, m) &&
                              textbuf_printf(&p->out, "}\n")));
}

/* Memory that the system used outside of a call: signal frames, end of a thread. */
static bool print_memory(struct os_printer *p, const struct ctr_os_event *e,
                         const struct ctr_usermem *u)
{
    const struct syscall_mem m = {.addr = u->addr,
                                  .size = u->size,
                                  .data = u->data,
                                  .n = u->n,
                                  .write = u->flags & CTR_USERMEM_WRITE,
                                  .string = u->flags & CTR_USERMEM_STRING};

    return put_memory_start(p, "memory", e, &m) &&
           (p->opt->json ||
            textbuf_printf(&p->out, "+++ system %s 0x%" PRIx64 "/%" PRIu64 "\n",
                           m.write ? "w" : "r", m.addr, m.size));
}

static bool print_keyframe(struct os_printer *p, const struct ctr_os_event *e,
                           const struct ctr_keyframe *k)
{
    const struct syscall_mem m = {
        .addr = k->addr, .size = k->n, .data = k->data, .n = k->n};

    return put_memory_start(p, "keyframe", e, &m) &&
           (p->opt->json ||
            textbuf_printf(&p->out, "+++ key frame 0x%" PRIx64 "/%" PRIu32 " +++\n",
                           k->addr, k->n));
}

static bool print_input(struct os_printer *p, const struct ctr_os_event *e,
                        const struct ctr_input *in)
{
    static const char *const names[] = {"unknown", "seed", "layout", "clock",
                                        "second result"};
    const char *what = names[in->what < sizeof(names) / sizeof(names[0]) ? in->what : 0];
    struct textbuf *b = &p->out;
    bool json = p->opt->json, ok = os_put_start(p, "input", e);

    ok = ok && (json ? textbuf_printf(b, ",\"op\":\"%s\",\"values\":[", what)
                     : textbuf_printf(b, "+++ input: %s", what));
    for (uint32_t i = 0; ok && i < in->n; i++) {
        const uint64_t v = ctr_input_number(in, i);

        ok = json ? textbuf_printf(b, "%s\"0x%" PRIx64 "\"", i ? "," : "", v)
                  : textbuf_printf(b, " 0x%" PRIx64, v);
    }
    return ok && textbuf_printf(b, json ? "]}\n" : " +++\n");
}

/* ----------------------------------------------------------------- signals */

/* Codes of user space and of SIGCHLD come with a sender. */
static bool has_sender(const struct ctr_signal *s, const char *name)
{
    return s->code <= 0 || !strcmp(name, "SIGCHLD");
}

/* What the sender gave with it: of SIGCHLD how the child ended, as strace shows it. */
static bool put_sent(struct os_printer *p, const struct ctr_signal *s, const char *name)
{
    char buf[GUEST_SIGNAL_MAX];

    if (strcmp(name, "SIGCHLD")) {
        return !s->value || textbuf_printf(&p->out, ", si_value=0x%" PRIx64, s->value);
    }
    if (s->code == CODE_EXITED) {
        return textbuf_printf(&p->out, ", si_status=%d", (int)s->value);
    }
    return textbuf_printf(&p->out, ", si_status=%s",
                          guest_signal_name(&p->guest, (uint32_t)s->value, buf));
}

static bool print_signal(struct os_printer *p, const struct ctr_os_event *e,
                         const struct ctr_signal *s)
{
    struct textbuf *b = &p->out;
    char buf[GUEST_SIGNAL_MAX];
    const char *name = guest_signal_name(&p->guest, s->signo, buf);
    const char *code = guest_signal_code(&p->guest, s->signo, s->code);
    bool sender = has_sender(s, name), ok = os_put_start(p, "signal", e);

    if (p->opt->json) {
        ok = ok && textbuf_printf(b,
                                  ",\"op\":\"deliver\",\"signal\":\"%s\",\"number\":%u,"
                                  "\"code\":%d",
                                  name, s->signo, s->code);
        ok = ok && (!code || textbuf_printf(b, ",\"code_name\":\"%s\"", code));
        ok = ok && (sender ? textbuf_printf(b,
                                            ",\"sender_pid\":%d,\"sender_uid\":%u,"
                                            "\"value\":\"0x%" PRIx64 "\"",
                                            s->pid, s->uid, s->value)
                           : textbuf_printf(b, ",\"addr\":\"0x%" PRIx64 "\"", s->addr));
        ok = ok && textbuf_printf(b, ",\"pc\":\"0x%" PRIx64 "\"", s->pc);
        if (ok && s->flags & CTR_SIGNAL_HANDLER) {
            ok = textbuf_printf(b, ",\"handler\":\"0x%" PRIx64 "\"", s->handler);
        }
        return ok && textbuf_printf(b, "%s%s}\n",
                                    s->flags & CTR_SIGNAL_SYNC ? ",\"sync\":true" : "",
                                    s->flags & CTR_SIGNAL_FATAL ? ",\"fatal\":true" : "");
    }
    ok = ok && textbuf_printf(b, "--- %s {si_signo=%s, si_code=", name, name) &&
         (code ? textbuf_printf(b, "%s", code) : textbuf_printf(b, "%d", s->code));
    if (ok && sender) {
        ok = textbuf_printf(b, ", si_pid=%d, si_uid=%u", s->pid, s->uid) &&
             put_sent(p, s, name);
    } else if (ok) {
        ok = s->addr ? textbuf_printf(b, ", si_addr=0x%" PRIx64, s->addr)
                     : textbuf_printf(b, ", si_addr=NULL");
    }
    ok = ok && textbuf_printf(b, "} at 0x%" PRIx64, s->pc);
    if (ok && s->flags & CTR_SIGNAL_HANDLER) {
        ok = textbuf_printf(b, ", handler 0x%" PRIx64, s->handler);
    }
    return ok &&
           textbuf_printf(b, "%s ---\n", s->flags & CTR_SIGNAL_FATAL ? ", fatal" : "");
}

static bool print_sigreturn(struct os_printer *p, const struct ctr_os_event *e,
                            uint64_t pc)
{
    return os_put_start(p, "signal", e) &&
           textbuf_printf(&p->out,
                          p->opt->json ? ",\"op\":\"return\",\"pc\":\"0x%" PRIx64 "\"}\n"
                                       : "--- handler returns to 0x%" PRIx64 " ---\n",
                          pc);
}

/* ---------------------------------------------------------------- mappings */

static const char *map_op(uint32_t op)
{
    static const char *const names[] = {NULL,       "initial", "mmap", "munmap",
                                        "mprotect", "mremap",  "brk",  "shmat",
                                        "shmdt",    "discard"};

    return op && op < sizeof(names) / sizeof(*names) ? names[op] : "unknown";
}

static bool has_prot(const struct ctr_map *m)
{
    return m->op != CTR_MAP_MUNMAP && m->op != CTR_MAP_SHMDT && m->op != CTR_MAP_DISCARD;
}

static bool print_map_json(struct os_printer *p, const struct ctr_map *m,
                           const char *prot)
{
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(
        b, ",\"op\":\"%s\",\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64 "\"",
        map_op(m->op), m->start, m->start + m->size);

    if (ok && has_prot(m)) {
        ok = textbuf_printf(b, ",\"prot\":\"%s\"", prot);
    }
    ok = ok && textbuf_printf(b, ",\"flags\":\"0x%x\"", m->flags);
    if (ok && (m->op == CTR_MAP_MREMAP || m->op == CTR_MAP_BRK)) {
        ok = textbuf_printf(
            b, ",\"old_start\":\"0x%" PRIx64 "\",\"old_end\":\"0x%" PRIx64 "\"",
            m->old_start, m->old_start + m->old_size);
    }
    if (ok && m->path.n) {
        ok = textbuf_printf(b, ",\"offset\":\"0x%" PRIx64 "\"", m->offset) &&
             put_json(b, "path", m->path.p, m->path.n);
    }
    if (ok && m->build_id.n) {
        char *at = textbuf_reserve(b, 2 * m->build_id.n + 32);
        ok = at != NULL;
        if (ok) {
            at = FMT_LIT(at, ",\"build_id\":\"");
            at = fmt_bytes(at, (const uint8_t *)m->build_id.p, m->build_id.n);
            *at++ = '"';
            textbuf_commit(b, at);
        }
    }
    if (ok && (m->dev || m->inode)) {
        ok = textbuf_printf(b, ",\"dev\":%" PRIu64 ",\"inode\":%" PRIu64, m->dev,
                            m->inode);
    }
    return ok && textbuf_printf(b, "}\n");
}

static bool print_map(struct os_printer *p, const struct ctr_os_event *e,
                      const struct ctr_map *m)
{
    const char prot[4] = {m->prot & 1 ? 'r' : '-', m->prot & 2 ? 'w' : '-',
                          m->prot & 4 ? 'x' : '-', 0};
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "map", e);

    if (!ok || p->opt->json) {
        return ok && print_map_json(p, m, prot);
    }
    ok = textbuf_printf(b, "+++ %s 0x%" PRIx64 "-0x%" PRIx64,
                        m->op == CTR_MAP_INITIAL ? "map" : map_op(m->op), m->start,
                        m->start + m->size);
    if (ok && has_prot(m)) {
        ok = textbuf_printf(b, " %s", prot);
    }
    if (ok && m->op == CTR_MAP_MREMAP) {
        ok = textbuf_printf(b, " from 0x%" PRIx64 "-0x%" PRIx64, m->old_start,
                            m->old_start + m->old_size);
    }
    if (ok && m->path.n) {
        ok = textbuf_printf(b, " ") && put_path(b, m->path.p, m->path.n) &&
             (m->path.p[0] != '/' || textbuf_printf(b, "+0x%" PRIx64, m->offset));
    }
    return ok && textbuf_printf(b, "\n");
}

/* ----------------------------------------------------------------- threads */

/* , argv ["cat", "file"] if they are known, as execve shows them */
static bool put_argv(struct textbuf *b, const struct ctr_thread_event *t)
{
    const struct program program = {t->args, t->argc};
    struct args_walk w = args_begin(&program, ARGS_TEXT);
    struct ctr_str arg;
    bool ok = !t->args.n || textbuf_printf(b, ", argv ["), cut = false;

    for (const char *comma = ""; ok && args_next(&w, &arg, &cut); comma = ", ") {
        ok = textbuf_printf(b, "%s", comma) &&
             syscall_put_quoted(b, (const uint8_t *)arg.p, arg.n, cut);
    }
    return ok && (cut || !w.left || textbuf_printf(b, ", ...")) &&
           (!t->args.n || textbuf_printf(b, "]"));
}

static bool print_thread_json(struct os_printer *p, const struct ctr_thread_event *t)
{
    static const char *const ops[] = {"unknown", "start", "end", "name", "exec"};
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(b, ",\"op\":\"%s\"", t->op < 5 ? ops[t->op] : ops[0]);

    if (ok && t->op == CTR_THREAD_START) {
        ok = textbuf_printf(b, ",\"ppid\":%d,\"ptid\":%d", t->ppid, t->ptid);
    }
    if (ok && t->op == CTR_THREAD_END) {
        ok = textbuf_printf(b, ",\"reason\":\"%s\",\"status\":%d", end_name(t->reason),
                            t->status);
    }
    if (ok && (t->name.n || t->op == CTR_THREAD_NAME || t->op == CTR_THREAD_EXEC)) {
        ok = put_json(b, "name", t->name.p, t->name.n);
    }
    return ok && args_put_json(b, &(const struct program){t->args, t->argc}) &&
           textbuf_printf(b, "}\n");
}

static bool put_thread_end(struct os_printer *p, const struct ctr_thread_event *t)
{
    char name[GUEST_SIGNAL_MAX];

    switch (t->reason) {
    case CTR_END_EXIT:
        return textbuf_printf(&p->out, "thread exited with %d", t->status);
    case CTR_END_GROUP:
        return textbuf_printf(&p->out, "exited with %d", t->status);
    case CTR_END_SIGNAL:
        return textbuf_printf(&p->out, "killed by %s",
                              guest_signal_name(&p->guest, (unsigned)t->status, name));
    case CTR_END_EXEC:
        return textbuf_printf(&p->out, "replaced by execve");
    default:
        return textbuf_printf(&p->out, "ended");
    }
}

static bool print_thread(struct os_printer *p, const struct ctr_os_event *e,
                         const struct ctr_thread_event *t)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "thread", e);

    if (!ok || p->opt->json) {
        return ok && print_thread_json(p, t);
    }
    ok = textbuf_printf(b, "+++ ");
    switch (t->op) {
    case CTR_THREAD_START:
        ok = ok &&
             (p->info.machine    ? textbuf_printf(b, "vCPU started")
              : t->tid != t->pid ? textbuf_printf(b, "thread started by %d", t->ptid)
                                 : textbuf_printf(b, "process started by %d", t->ppid));
        if (ok && t->name.n) {
            ok = textbuf_printf(b, ", named ") &&
                 syscall_put_quoted(b, (const uint8_t *)t->name.p, t->name.n, false);
        }
        ok = ok && put_argv(b, t);
        break;
    case CTR_THREAD_END:
        ok = ok && put_thread_end(p, t);
        break;
    case CTR_THREAD_NAME:
        ok = ok && textbuf_printf(b, "thread named ") &&
             syscall_put_quoted(b, (const uint8_t *)t->name.p, t->name.n, false);
        break;
    case CTR_THREAD_EXEC:
        ok = ok && textbuf_printf(b, "goes on as ") &&
             syscall_put_quoted(b, (const uint8_t *)t->name.p, t->name.n, false) &&
             put_argv(b, t);
        break;
    default:
        ok = ok && textbuf_printf(b, "thread event %u", t->op);
        break;
    }
    return ok && textbuf_printf(b, " +++\n");
}

bool os_print_event(struct os_printer *p, const struct ctr_os_event *e)
{
    struct ctr_keyframe key;
    struct ctr_input input;
    struct ctr_usermem mem;
    struct ctr_signal signal;
    struct ctr_map map;
    struct ctr_thread_event thread;
    uint64_t pc;

    if (p->touching && (ctr_parse_usermem(e, &mem) ||
                        !os_touches(p->opt, e->thread, mem.addr, mem.size,
                                    (mem.flags & CTR_USERMEM_WRITE) != 0))) {
        return true;
    }
    switch (e->type) {
    case CTR_EVENT_USERMEM:
        return p->opt->signals_only || ctr_parse_usermem(e, &mem) != 0 ||
               print_memory(p, e, &mem);
    case CTR_EVENT_KEYFRAME:
        return ctr_parse_keyframe(e, &key) != 0 || print_keyframe(p, e, &key);
    case CTR_EVENT_INPUT:
        return ctr_parse_input(e, &input) != 0 || print_input(p, e, &input);
    case CTR_EVENT_SIGNAL:
        return ctr_parse_signal(e, &signal) != 0 || print_signal(p, e, &signal);
    case CTR_EVENT_SIGRETURN:
        return ctr_parse_sigreturn(e, &pc) != 0 || print_sigreturn(p, e, pc);
    case CTR_EVENT_MAP:
        return ctr_parse_map(e, &map) != 0 || print_map(p, e, &map);
    case CTR_EVENT_THREAD:
        return ctr_parse_thread(e, &thread) != 0 || print_thread(p, e, &thread);
    case CTR_EVENT_INTERRUPT:
    case CTR_EVENT_INTRET:
    case CTR_EVENT_CONTEXT:
    case CTR_EVENT_SLICE:
    case CTR_EVENT_POWER:
    case CTR_EVENT_TASK:
    case CTR_EVENT_AREA:
        return os_print_machine(p, e);
    case CTR_EVENT_RAM:
    case CTR_EVENT_DMA:
    case CTR_EVENT_IO:
        return os_print_memory(p, e);
    default:
        return os_print_own(p, e);
    }
}
