/* SPDX-License-Identifier: MIT */
/* Packets that begin with q and Q: what the server can do, threads, documents. */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "input/comm.h"

static bool put(struct session *s, const char *text)
{
    return textbuf_printf(&s->out, "%s", text);
}

/* Whether a packet is NAME, or NAME and something after one of `:;,'. */
static const char *after(const char *packet, const char *name)
{
    const size_t n = strlen(name);

    if (strncmp(packet, name, n)) {
        return NULL;
    }
    return !packet[n]                         ? packet + n
           : strchr(":;,", packet[n]) != NULL ? packet + n + 1
                                              : NULL;
}

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n) {
        if ((p == list || p[-1] == ';') && (!p[n] || p[n] == ';')) {
            return true;
        }
    }
    return false;
}

static bool has_calls(const struct session *s)
{
    return !s->info.machine && s->info.events & CTR_HAS_SYS;
}

static bool put_supported(struct session *s, const char *peer)
{
    s->multiprocess = has_word(peer, "multiprocess+");
    s->swbreak = has_word(peer, "swbreak+");
    s->hwbreak = has_word(peer, "hwbreak+");
    s->forks = s->multiprocess && has_calls(s) && has_word(peer, "fork-events+");
    s->vforks = s->multiprocess && has_calls(s) && has_word(peer, "vfork-events+");
    s->execs = !s->info.machine && has_word(peer, "exec-events+");
    return textbuf_printf(
        &s->out,
        "PacketSize=%x;QStartNoAckMode+;multiprocess+;swbreak+;"
        "hwbreak+;vContSupported+;ConditionalBreakpoints+;ReverseStep+;ReverseContinue+;"
        "QPassSignals+;QThreadEvents+;qXfer:features:read+;qXfer:threads:read+%s%s%s%s%s%s",
        PACKET_MOST, s->info.machine ? "" : ";qXfer:exec-file:read+;qXfer:auxv:read+",
        has_calls(s) ? ";QCatchSyscalls+;qXfer:siginfo:read+" : "",
        libraries_listed(s) ? ";qXfer:libraries-svr4:read+" : "",
        s->forks ? ";fork-events+" : "", s->vforks ? ";vfork-events+" : "",
        s->execs ? ";exec-events+" : "");
}

/* ---------------------------------------------------------------------- threads */

static bool put_threads(struct session *s)
{
    const struct ctr_thread *t;
    bool ok = put(s, "m");

    for (uint32_t i = 0; ok && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (position_has(s, t)) {
            ok = (s->out.len == 1 || put(s, ",")) && put_thread_id(s, &s->out, t);
        }
    }
    return ok;
}

/* <threads>: each with its name. */
static bool make_threads(struct session *s, struct textbuf *b)
{
    const struct ctr_thread *t;
    struct comm_table *names = NULL;
    bool ok = textbuf_printf(b, "<threads>\n");

    if (comm_load(&names, s->tr, &s->diag)) { /* then without names */
        names = NULL;
    }

    for (uint32_t i = 0; ok && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        const char *name = names ? comm_last(names, i) : "";

        if (position_has(s, t)) {
            ok = textbuf_printf(b, "<thread id=\"") && put_thread_id(s, b, t) &&
                 textbuf_printf(b, "\" name=\"") &&
                 textbuf_markup(b, name, strlen(name)) && textbuf_printf(b, "\"/>\n");
        }
    }
    comm_free(names);
    return ok && textbuf_printf(b, "</threads>\n");
}

/* -------------------------------------------------------------------- documents */

/* The program of a process, by its id, or of the one chosen. */
static const char *program_of(struct session *s, const char *annex)
{
    const uint32_t chosen = s->here.process;
    uint32_t process;
    uint64_t pid;
    const char *text;

    if (!parse_hex(&annex, &pid) || !process_find(s, pid, &process)) {
        return files_program(s);
    }
    process_choose(s, process);
    text = files_program(s); /* valid as long as it is of this process */
    return process == chosen ? text : (process_choose(s, chosen), text);
}

/* Makes a document of qXfer anew; false: no memory. *none: there is no such one. */
static bool make_document(struct session *s, const char *object, const char *annex,
                          bool *none)
{
    struct textbuf *b = &s->document;
    const char *text = NULL;
    uint8_t siginfo[SIGINFO_BYTES];
    const void *data = NULL;
    size_t n = 0;

    b->len = 0;
    *none = false;
    if (!strcmp(object, "threads")) {
        return make_threads(s, b);
    }
    if (!strcmp(object, "libraries-svr4") && libraries_listed(s)) {
        const bool ok = libraries_list(s, files_program(s), b, none);

        *none = !*none;
        return ok;
    }
    if (!strcmp(object, "features") && !strcmp(annex, "target.xml")) {
        text = gdb_regs_xml(s->regs);
    } else if (!strcmp(object, "exec-file")) {
        text = program_of(s, annex);
    } else if (!strcmp(object, "auxv")) {
        data = files_auxv(s, &n);
    } else if (!strcmp(object, "siginfo") && siginfo_get(s, siginfo)) {
        data = siginfo;
        n = sizeof(siginfo);
    }
    if (text) {
        data = text;
        n = strlen(text);
    }
    *none = !data;
    if (data) {
        char *p = textbuf_reserve(b, n);

        if (!p) {
            return false;
        }
        textbuf_commit(b, fmt_mem(p, data, n));
    }
    return true;
}

/* "OBJECT:read:ANNEX:OFFSET,LENGTH" */
static bool transfer(struct session *s, const char *request)
{
    char copy[256];
    char *object = copy, *annex, *at;
    const char *numbers;
    uint64_t offset, n;
    bool none;

    if (strlen(request) >= sizeof(copy)) {
        return put(s, "E.too long");
    }
    strcpy(copy, request);
    at = strstr(copy, ":read:");
    if (!at) {
        return true;
    }
    *at = 0;
    annex = at + strlen(":read:");
    at = strchr(annex, ':');
    numbers = at ? at + 1 : "";
    if (!at || !parse_hex(&numbers, &offset) || *numbers++ != ',' ||
        !parse_hex(&numbers, &n)) {
        return put(s, "E.not a document, an offset and a length");
    }
    *at = 0;
    if (!offset || !s->document.len) {
        if (!make_document(s, object, annex, &none)) {
            return false;
        }
        if (none) {
            return put(s, "E.the trace does not have it");
        }
    }
    n = n < PACKET_MOST / 2 ? n : PACKET_MOST / 2;
    if (offset >= s->document.len) {
        return put(s, "l");
    }
    n = n < s->document.len - offset ? n : s->document.len - offset;
    at = put(s, offset + n < s->document.len ? "m" : "l") ? textbuf_reserve(&s->out, n)
                                                          : NULL;
    if (at) {
        textbuf_commit(&s->out, fmt_mem(at, s->document.data + offset, n));
    }
    return at != NULL;
}

/* ----------------------------------------------------------------------- others */

static bool pass_signals(struct session *s, const char *p)
{
    uint64_t number;

    memset(s->pass, 0, sizeof(s->pass));
    while (parse_hex(&p, &number)) {
        if (number < 256) {
            s->pass[number / 8] |= (uint8_t)(1u << number % 8);
        }
        p += *p == ';';
    }
    return put(s, "OK");
}

static bool run_command(struct session *s, const char *hex)
{
    char command[512];
    struct textbuf b = {0};
    long n = parse_hex_bytes(hex, (uint8_t *)command, sizeof(command) - 1);
    bool ok;

    if (n < 0) {
        return put(s, "E.the command is too long");
    }
    command[n] = 0;
    ok = monitor(s, command, &b) &&
         (b.len ? put_hex(&s->out, b.data, b.len) : put(s, "OK"));
    textbuf_fini(&b);
    return ok;
}

bool query(struct session *s, const char *packet, size_t n)
{
    const char *rest;

    (void)n;
    if ((rest = after(packet, "qSupported")) != NULL) {
        return put_supported(s, rest);
    }
    if (after(packet, "QStartNoAckMode")) {
        return put(s, "OK");
    }
    if ((rest = after(packet, "qXfer")) != NULL) {
        return transfer(s, rest);
    }
    if ((rest = after(packet, "QPassSignals")) != NULL) {
        return pass_signals(s, rest);
    }
    if ((rest = after(packet, "QCatchSyscalls")) != NULL) {
        return !has_calls(s) ? put(s, "E.system calls were not recorded (-e sys)")
               : *rest != '0' && *rest != '1' ? put(s, "E.neither 0 nor 1")
                                              : syscalls_catch(s, rest) && put(s, "OK");
    }
    if ((rest = after(packet, "QThreadEvents")) != NULL) {
        s->thread_events = *rest == '1';
        return put(s, "OK");
    }
    if ((rest = after(packet, "qRcmd")) != NULL) {
        return run_command(s, rest);
    }
    if (after(packet, "qfThreadInfo")) {
        return put_threads(s);
    }
    if (after(packet, "qsThreadInfo")) {
        return put(s, "l");
    }
    if (after(packet, "qC")) {
        return put(s, "QC") &&
               put_thread_id(s, &s->out, ctr_trace_thread(s->tr, s->here.at.thread));
    }
    if (after(packet, "qOffsets")) {
        return s->info.machine ? kernel_offsets(s, &s->out)
                               : libraries_offsets(s, files_program(s), &s->out);
    }
    if (after(packet, "qAttached")) {
        return put(s, "1"); /* gdb detaches at its end, and kills nothing */
    }
    return true;
}
