/* SPDX-License-Identifier: MIT */
/*
 * Serves gdb: reads packets and answers them.  Packets that are not known get an empty
 * answer, as the protocol wants.  What would change the program is refused: a trace can
 * only be read.
 */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/trace.h"

#define MEMORY_MOST 0x4000u /* bytes of memory in an answer */
#define GDB_SIGINT 2
#define GDB_SIGTRAP 5

#define READ_ONLY "E.a trace can only be read"
#define NOT_THERE "E01" /* of some packets gdb takes no text */

/* ---------------------------------------------------------------------- texts */

static bool put_text(struct session *s, const char *text)
{
    return textbuf_printf(&s->out, "%s", text);
}

/* gdb gets an error and goes on: whoever started the session learns of it at the end. */
static void keep_failure(struct session *s, int ret)
{
    if (ret && !s->failed) {
        s->failed = ret;
        s->failure = s->diag;
    }
}

/* "E.text": what failed in libctr. */
static bool put_error(struct session *s, int ret)
{
    keep_failure(s, ret);
    return textbuf_printf(&s->out, "E.%s",
                          s->diag.text[0] ? s->diag.text : ctr_strerror(ret));
}

/* -------------------------------------------------------------------- threads */

/* "Hg": for registers and memory; "Hc": for steps. */
static bool choose_thread(struct session *s, const char *packet)
{
    const char *p = packet + (packet[1] ? 2 : 1);
    uint32_t thread;

    if (parse_thread_id(s, &p, &thread) < 0) {
        return put_text(s, NOT_THERE);
    }
    if (packet[1] == 'c') {
        s->stepping = thread;
    } else {
        process_choose(s, ctr_trace_thread(s->tr, thread)->process);
        s->chosen = thread;
    }
    return put_text(s, "OK");
}

static bool is_alive(struct session *s, const char *p)
{
    uint32_t thread;

    return put_text(s, parse_thread_id(s, &p, &thread) < 0 ? NOT_THERE : "OK");
}

/* ------------------------------------------------------------------- registers */

static bool put_register(struct session *s, const uint8_t *values, uint64_t pc,
                         unsigned i)
{
    uint8_t bytes[GDB_REG_MAX];
    const uint32_t size = gdb_regs_size(s->regs, i);
    uint64_t npc;
    bool ok = true;

    if (gdb_regs_get(s->regs, values, pc, i, bytes)) {
        return put_hex(&s->out, bytes, size);
    }
    if ((int)i == gdb_regs_npc(s->regs) && position_npc(s, s->chosen, &npc)) {
        guest_store(&s->guest, bytes, npc, size);
        return put_hex(&s->out, bytes, size);
    }
    for (uint32_t k = 0; ok && k < size; k++) {
        ok = put_text(s, "xx");
    }
    return ok;
}

static bool put_registers(struct session *s)
{
    const uint8_t *values;
    uint64_t pc;
    int ret = position_state(s, s->chosen, &values, &pc);
    bool ok = true;

    if (ret) {
        return put_error(s, ret);
    }
    for (unsigned i = 0; ok && i < gdb_regs_in_g(s->regs); i++) {
        ok = put_register(s, values, pc, i);
    }
    return ok;
}

static bool put_one_register(struct session *s, const char *p)
{
    const uint8_t *values;
    uint64_t pc, i;
    int ret;

    if (!parse_hex(&p, &i) || i >= gdb_regs_count(s->regs) ||
        !gdb_regs_size(s->regs, (unsigned)i)) {
        return put_text(s, "E.no such register");
    }
    ret = position_state(s, s->chosen, &values, &pc);
    return ret ? put_error(s, ret) : put_register(s, values, pc, (unsigned)i);
}

/* ---------------------------------------------------------------------- memory */

/* The bytes from an address on that are known, at least one. */
static bool put_memory(struct session *s, const char *p)
{
    uint8_t bytes[MEMORY_MOST], known[MEMORY_MOST];
    uint64_t addr, n;
    size_t end = 0;
    int ret;

    if (!parse_hex(&p, &addr) || *p++ != ',' || !parse_hex(&p, &n)) {
        return put_text(s, NOT_THERE);
    }
    n = n < MEMORY_MOST ? n : MEMORY_MOST;
    n = n < 0 - addr || !addr ? n : 0 - addr;
    ret = n ? position_memory(s, addr, bytes, known, n) : 0;
    keep_failure(s, ret);
    while (!ret && end < n && known[end]) {
        end++;
    }
    return end || !n ? put_hex(&s->out, bytes, end) : put_text(s, NOT_THERE);
}

/* --------------------------------------------------------------------- stopping */

static bool put_expedited(struct session *s, int i)
{
    const uint8_t *values;
    uint8_t bytes[GDB_REG_MAX];
    uint64_t pc;

    if (i < 0 || position_state(s, s->here.at.thread, &values, &pc) ||
        !gdb_regs_get(s->regs, values, pc, (unsigned)i, bytes)) {
        return true;
    }
    return textbuf_printf(&s->out, "%x:", (unsigned)i) &&
           put_hex(&s->out, bytes, gdb_regs_size(s->regs, (unsigned)i)) &&
           put_text(s, ";");
}

/* Whether a breakpoint that gdb set as one of the hardware's is at the position. */
static bool is_hardware(struct session *s)
{
    const uint8_t *values;
    uint64_t pc;

    return !position_state(s, s->here.at.thread, &values, &pc) && points_has(s, '1', pc);
}

static bool put_reason(struct session *s)
{
    const struct stop *stop = &s->here.last;
    const char *path;
    bool hardware;

    switch (stop->why) {
    case STOP_BREAK:
        hardware = is_hardware(s);
        return !(hardware ? s->hwbreak : s->swbreak) ||
               put_text(s, hardware ? "hwbreak:;" : "swbreak:;");
    case STOP_WATCH:
        return textbuf_printf(&s->out, "%s:%" PRIx64 ";",
                              stop->type == '2'   ? "watch"
                              : stop->type == '3' ? "rwatch"
                                                  : "awatch",
                              stop->addr);
    case STOP_ENTRY:
        return textbuf_printf(&s->out, "syscall_entry:%" PRIx32 ";", stop->number);
    case STOP_RETURN:
        return textbuf_printf(&s->out, "syscall_return:%" PRIx32 ";", stop->number);
    case STOP_FORK:
    case STOP_VFORK:
        return put_text(s, stop->why == STOP_FORK ? "fork:" : "vfork:") &&
               put_thread_id(s, &s->out, process_thread(s, stop->child)) &&
               put_text(s, ";");
    case STOP_VFORKED:
        return put_text(s, "vforkdone:;");
    case STOP_EXEC:
        path = files_program(s);
        return put_text(s, "exec:") &&
               put_hex(&s->out, path ? path : "", path ? strlen(path) : 0) &&
               put_text(s, ";");
    case STOP_CREATED:
        return put_text(s, "create:;");
    case STOP_BEGIN:
        return put_text(s, "replaylog:begin;");
    case STOP_END:
        return put_text(s, "replaylog:end;");
    default:
        return true;
    }
}

static bool put_stop(struct session *s)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->here.at.thread);

    if (s->here.last.why == STOP_ENDED) {
        return textbuf_printf(&s->out, "w%02x;", (unsigned)t->end_status & 0xff) &&
               put_thread_id(s, &s->out, t);
    }
    return textbuf_printf(&s->out, "T%02xthread:",
                          s->here.last.why == STOP_SIGNAL      ? s->here.last.signal
                          : s->here.last.why == STOP_INTERRUPT ? GDB_SIGINT
                                                               : GDB_SIGTRAP) &&
           put_thread_id(s, &s->out, t) && put_text(s, ";") && put_reason(s) &&
           put_expedited(s, gdb_regs_pc(s->regs)) &&
           put_expedited(s, gdb_regs_sp(s->regs));
}

static bool stopped(struct session *s, int ret, const struct stop *stop)
{
    if (ret) {
        return put_error(s, ret);
    }
    s->here.last = *stop;
    return put_stop(s);
}

static bool go(struct session *s, bool back)
{
    struct stop stop;
    int ret;

    process_choose(s, ctr_trace_thread(s->tr, s->stepping)->process);
    ret = resume_go(s, back, &stop);

    return stopped(s, ret, &stop);
}

static bool step(struct session *s, bool back, uint32_t thread, uint64_t from,
                 uint64_t to)
{
    struct stop stop;
    int ret;

    process_choose(s, ctr_trace_thread(s->tr, thread)->process);
    ret = step_go(s, back, thread, from, to, &stop);

    return stopped(s, ret, &stop);
}

/* "vCont;ACTION[:THREAD]...": a step of a thread if one is requested, else all go on. */
static bool resume_actions(struct session *s, const char *p)
{
    while (*p == ';') {
        const char action = *++p;
        uint64_t ignored, from = 0, to = 0;
        uint32_t thread = s->here.at.thread;

        p += action != 0;
        if ((action == 'S' || action == 'C') && !parse_hex(&p, &ignored)) {
            return put_text(s, "E.not a signal");
        }
        if (action == 'r' &&
            (!parse_hex(&p, &from) || *p++ != ',' || !parse_hex(&p, &to))) {
            return put_text(s, "E.not a range");
        }
        if (*p == ':') {
            p++;
            if (parse_thread_id(s, &p, &thread) < 0) {
                return put_text(s, "E.no such thread here");
            }
        }
        if (action == 's' || action == 'S' || action == 'r') {
            return step(s, false, thread, from, to);
        }
        if (action != 'c' && action != 'C') {
            return put_text(s, "E.no such action");
        }
        s->stepping = thread;
    }
    return go(s, false);
}

static bool restart(struct session *s)
{
    int ret = session_rewind(s);

    process_forget(s);
    return ret ? put_error(s, ret) : put_stop(s);
}

/* ---------------------------------------------------------------------- packets */

static bool starts_with(const char *packet, const char *name)
{
    return !strncmp(packet, name, strlen(name));
}

/* "D;PID" and "vKill;PID": of several processes, one.  Of the last one, too, gdb may still
 * read files: 16.3 hangs if the connection ends before it closes it. */
static bool leave(struct session *s, const char *p)
{
    uint64_t pid;
    uint32_t process = s->here.process;

    if (parse_hex(&p, &pid) && !process_find(s, pid, &process)) {
        return put_text(s, NOT_THERE);
    }
    process_leave(s, process);
    return put_text(s, "OK");
}

static bool answer_v(struct session *s, const char *packet, size_t n)
{
    if (starts_with(packet, "vCont?")) {
        return put_text(s, "vCont;c;C;s;S;r");
    }
    if (starts_with(packet, "vCont;")) {
        return resume_actions(s, packet + strlen("vCont"));
    }
    if (starts_with(packet, "vFile:")) {
        return files_request(s, packet + strlen("vFile:"), n - strlen("vFile:"));
    }
    if (starts_with(packet, "vRun")) {
        return restart(s);
    }
    if (starts_with(packet, "vCtrlC")) {
        return put_text(s, "OK"); /* it has stopped */
    }
    if (starts_with(packet, "vKill;")) {
        return leave(s, packet + strlen("vKill;"));
    }
    return true; /* also vMustReplyEmpty */
}

/* Answers into s->out; *silent: there is no answer.  False: no memory. */
static bool answer(struct session *s, const char *packet, size_t n, bool *silent)
{
    switch (packet[0]) {
    case '?':
        return put_stop(s);
    case '!':
        return put_text(s, "OK");
    case 'b':
        return packet[1] == 'c'   ? go(s, true)
               : packet[1] == 's' ? step(s, true, s->stepping, 0, 0)
                                  : true;
    case 'c':
    case 'C':
        return go(s, false);
    case 's':
    case 'S':
        return step(s, false, s->stepping, 0, 0);
    case 'D':
        return leave(s, packet[1] == ';' ? packet + 2 : "");
    case 'g':
        return put_registers(s);
    case 'p':
        return put_one_register(s, packet + 1);
    case 'm':
        return put_memory(s, packet + 1);
    case 'G':
    case 'P':
    case 'M':
    case 'X':
        return put_text(s, READ_ONLY);
    case 'H':
        return choose_thread(s, packet);
    case 'k':
        s->killed = *silent = true;
        return true;
    case 'R':
        *silent = true;
        return restart(s);
    case 'T':
        return is_alive(s, packet + 1);
    case 'v':
        return answer_v(s, packet, n);
    case 'z':
    case 'Z':
        return points_request(s, packet);
    case 'q':
    case 'Q':
        return query(s, packet, n);
    default:
        return true;
    }
}

static int failed(const char *why)
{
    tool_error(PROG, "the connection to gdb: %s", why);
    return TOOL_FAILED;
}

int serve(struct session *s, int in, int out)
{
    struct packet_link *l = malloc(sizeof(*l));
    int status = l ? TOOL_OK : failed("out of memory");

    if (l) {
        packet_init(l, in, out);
        s->link = l;
    }
    s->killed = s->multiprocess = s->swbreak = s->hwbreak = false;
    s->forks = s->vforks = s->execs = s->thread_events = false;
    if (s->here.last.why == STOP_ENDED) { /* of an earlier connection */
        s->here.last = (struct stop){.why = STOP_THERE};
        s->here.phase = PHASE_RETURN;
    }
    points_clear(s);
    memset(s->pass, 0, sizeof(s->pass));
    while (!status && !s->killed) {
        bool silent = false, no_ack;
        char *packet;
        size_t n;
        enum packet_got got = packet_read(l, &packet, &n);

        if (got == PACKET_END) {
            break;
        }
        if (got == PACKET_FAILED) {
            status = errno == ECONNRESET ? TOOL_OK : failed(strerror(errno));
            break;
        }
        if (got == PACKET_INTERRUPT) {
            continue; /* it has stopped */
        }
        s->out.len = 0;
        s->diag.text[0] = 0;
        no_ack = starts_with(packet, "QStartNoAckMode");
        if (!answer(s, packet, n, &silent)) {
            status = failed("out of memory");
        } else if (!silent && !packet_send(l, s->out.data, s->out.len)) {
            break; /* it is gone */
        }
        l->no_ack |= no_ack;
    }
    files_close(s);
    syscalls_close(s);
    points_clear(s);
    process_forget(s);
    s->link = NULL;
    free(l);
    return status;
}
