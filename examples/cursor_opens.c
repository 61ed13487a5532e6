/* SPDX-License-Identifier: MIT */
/*
 * cursor_opens: lists the files that a recorded program opened, and the results.  An
 * example of libctr's cursor and of system events.
 *
 *   cursor_opens run.ctr
 *   cannoli-record -q -e exec,sys -o - -- ./app | cursor_opens -
 *
 * A system call has an event at its entry and one at its return; the memory that it read
 * and wrote is between the two.  So the path is the string that was read at the address
 * in the call's argument.
 *
 * Build: cc -o cursor_opens cursor_opens.c $(pkg-config --cflags --libs libctr)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cannoli/events.h>
#include <ctr.h>

/* The current call of a thread. */
struct open_call {
    uint64_t path_addr; /* 0: not a call that opens a file */
    char path[256];     /* "" until it was read */
};

/* Address of the path that the call opens, 0 if it opens none. */
static uint64_t opened_path(const struct ctr_syscall *s)
{
    static const struct {
        const char *name;
        int arg;
    } calls[] = {{"open", 0}, {"openat", 1}, {"openat2", 1}, {"creat", 0}};

    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        if (s->name.n == strlen(calls[i].name) &&
            !memcmp(s->name.p, calls[i].name, s->name.n)) {
            return s->args[calls[i].arg];
        }
    }
    return 0;
}

static void take_event(const struct ctr_os_event *e, struct open_call *c)
{
    struct ctr_syscall s;
    struct ctr_usermem m;

    if (ctr_parse_usermem(e, &m) == 0) {
        if (c->path_addr && m.addr == c->path_addr && m.flags & CTR_USERMEM_STRING) {
            snprintf(c->path, sizeof(c->path), "%.*s", (int)m.n, (const char *)m.data);
            for (char *p = c->path; *p; p++) {
                *p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
            }
        }
    } else if (e->type == CTR_EVENT_SYSCALL && ctr_parse_syscall(e, &s) == 0) {
        c->path_addr = opened_path(&s);
        c->path[0] = 0;
    } else if (e->type == CTR_EVENT_SYSRET && c->path_addr &&
               ctr_parse_syscall(e, &s) == 0) {
        printf("%d/%d  %-40s  ", e->thread->pid, e->thread->tid,
               c->path[0] ? c->path : "(not readable)");
        printf(s.result < 0 ? "error %" PRId64 "\n" : "descriptor %" PRId64 "\n",
               s.result < 0 ? -s.result : s.result);
        c->path_addr = 0;
    }
}

/* The call of a thread; NULL: no memory. */
static struct open_call *call_of(struct open_call **calls, uint32_t *n, uint32_t thread)
{
    if (thread >= *n) {
        struct open_call *more = realloc(*calls, (thread + 1) * sizeof(*more));
        if (!more) {
            return NULL;
        }
        memset(more + *n, 0, (thread + 1 - *n) * sizeof(*more));
        *calls = more;
        *n = thread + 1;
    }
    return &(*calls)[thread];
}

int main(int argc, char **argv)
{
    const struct ctr_filter filter = {.kinds = CTR_KIND_SYS};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct open_call *calls = NULL; /* by index of the thread */
    uint32_t n = 0;
    struct ctr_trace *tr = NULL;
    struct ctr_cursor *cursor = NULL;
    struct ctr_event ev;
    int ret;

    if (argc != 2) {
        fprintf(stderr, "usage: cursor_opens FILE\n");
        return 2;
    }
    ret = ctr_open(&tr, argv[1], 0, &diag);
    if (ret == 0) {
        ret = ctr_cursor_open(&cursor, tr, &filter, &diag);
    }
    while (cursor && (ret = ctr_cursor_next(cursor, &ev, &diag)) == 1) {
        struct open_call *c = call_of(&calls, &n, ev.os.thread->index);
        if (!c) {
            fprintf(stderr, "cursor_opens: out of memory\n");
            exit(1);
        }
        take_event(&ev.os, c);
    }
    if (ret < 0) {
        fprintf(stderr, "cursor_opens: %s: %s\n", argv[1], diag.text);
    }
    free(calls);
    ctr_cursor_close(cursor);
    ctr_close(tr);
    return ret < 0;
}
