/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher sleeps on a futex, but the ends of processes are reported through
 * descriptors: a thread of its own turns the one into the other.  It only rings;
 * guests_poll queries each pidfd to find the processes that have ended.
 */
#include "guests.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A QEMU that replaced a traced program and has not attached itself within this time is
 * not recorded: it was started without -cannoli. */
#define LIMBO_NS 2000000000ull

static void *bellman_main(void *arg)
{
    struct guests *g = arg;
    struct epoll_event ev[16];

    for (;;) {
        int n = epoll_wait(g->epoll, ev, 16, -1);
        for (int i = 0; i < n; i++) {
            if (ev[i].data.fd == g->stop) {
                return NULL;
            }
        }
        if (n > 0) {
            /* pairs with the exchange in guests_poll */
            __atomic_store_n(&g->deaths, true, __ATOMIC_RELEASE);
            mempipe_host_ring(g->host);
        }
    }
}

int guests_open(struct guests *g, struct mempipe_host *host,
                struct attached_shared *attached)
{
    struct epoll_event ev = {.events = EPOLLIN};
    sigset_t all, old;
    int err;

    memset(g, 0, sizeof(*g));
    g->host = host;
    g->attached = attached;
    lifeline_open(&g->lifeline);
    g->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (g->epoll < 0) {
        err = -errno;
        goto out_lifeline;
    }
    g->stop = eventfd(0, EFD_CLOEXEC);
    ev.data.fd = g->stop;
    if (g->stop < 0 || epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->stop, &ev) < 0) {
        err = -errno;
        goto out_fds;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = -pthread_create(&g->bellman, NULL, bellman_main, g);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!err) {
        return 0;
    }

out_fds:
    if (g->stop >= 0) {
        close(g->stop);
    }
    close(g->epoll);
out_lifeline:
    lifeline_close(&g->lifeline);
    return err;
}

void guests_open_ended(struct guests *g, struct mempipe_host *host)
{
    memset(g, 0, sizeof(*g));
    g->host = host;
    g->ended = true;
    g->epoll = g->stop = -1;
}

void guests_close(struct guests *g)
{
    uint64_t one = 1;

    if (write(g->stop, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
        pthread_join(g->bellman, NULL);
    }
    close(g->stop);
    close(g->epoll);
    while (g->processes) {
        struct guest_process *p = g->processes;
        guests_remove(g, p);
        guest_process_free(p);
    }
    lifeline_close(&g->lifeline);
}

struct guest_process *guests_find(struct guests *g, uint32_t serial)
{
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->serial == serial) {
            return p;
        }
    }
    return NULL;
}

/* The process that has this number now and is still recorded. */
static struct guest_process *find_host(const struct guests *g, pid_t pid, uint64_t start)
{
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->host_pid == pid && p->start == start && !p->replaced && !p->execed) {
            return p;
        }
    }
    return NULL;
}

static bool is_known(void *arg, pid_t pid, uint64_t start)
{
    return find_host(arg, pid, start) != NULL;
}

/* The host's number of a process that the guest knows by `pid'; 0: not known. */
static pid_t host_number(const struct guests *g, pid_t pid)
{
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->pid == pid && p->host_pid) {
            return p->host_pid;
        }
    }
    return 0;
}

/*
 * Finds out which process it is; false: it has ended, or is not recorded any more.
 * Nobody signals one that has become a QEMU by execve but is not attached yet.
 */
static bool identify(struct guests *g, const struct guest_claim *claim,
                     struct attached_process *out, bool *attached)
{
    const struct attached_file *f = &g->attached->file;

    *attached =
        (claim->nested ? attached_search(f, claim->pid, host_number(g, claim->ppid),
                                         is_known, g, out)
                       : attached_query(f, claim->pid, out)) != ATTACHED_NOT;
    return *attached || (claim->inside_exec && !claim->nested && claim->pid > 0 &&
                         attached_is_qemu(claim->pid) && attached_open(claim->pid, out));
}

/*
 * The same process reports a first thread once more, after execve: its earlier program is
 * over.
 */
static void replace(struct guests *g, struct guest_process *p)
{
    p->execed = true;
    p->replaced = true;
    /* pairs with the exchange in guests_poll */
    __atomic_store_n(&g->deaths, true, __ATOMIC_RELEASE);
}

static void watch(struct guests *g, struct guest_process *p,
                  const struct attached_process *at, bool attached)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT};
    struct guest_process *before = find_host(g, at->pid, at->start);

    if (before) {
        replace(g, before);
    }
    p->host_pid = at->pid;
    p->start = at->start;
    p->pidfd = at->pidfd;
    if (attached) {
        p->tie = lifeline_tie(&g->lifeline, at->pid, at->pidfd);
        p->entry = attached_add(g->attached, at->pid, at->start);
    }
    /* Without a descriptor for it guests_poll searches for the number. */
    if (p->pidfd >= 0) {
        ev.data.fd = p->pidfd;
        epoll_ctl(g->epoll, EPOLL_CTL_ADD, p->pidfd, &ev);
    } else {
        g->unwatched++;
    }
}

struct guest_process *guests_add(struct guests *g, const struct guest_claim *claim)
{
    struct guest_process *p = calloc(1, sizeof(*p));
    struct attached_process at;
    bool attached;

    if (!p) {
        return NULL;
    }
    p->serial = claim->serial;
    p->pid = claim->pid;
    p->ppid = claim->ppid;
    p->nested = claim->nested;
    p->pidfd = -1;
    p->tie = -1;
    p->entry = -1;
    if (!g->ended && identify(g, claim, &at, &attached)) {
        watch(g, p, &at, attached);
    } else {
        /* It has ended, or has become another program meanwhile.  The next round finds
         * out which at its begin: what it sent last may still be under way. */
        p->execed = claim->inside_exec;
        /* pairs with the exchange in guests_poll */
        __atomic_store_n(&g->deaths, true, __ATOMIC_RELEASE);
    }
    p->next = g->processes;
    g->processes = p;
    return p;
}

void guests_remove(struct guests *g, struct guest_process *p)
{
    struct guest_process **at = &g->processes;

    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    if (p->pidfd >= 0) {
        close(p->pidfd);
        p->pidfd = -1;
    } else if (p->host_pid) {
        g->unwatched--;
    }
    lifeline_loosen(&g->lifeline, p->tie);
    p->tie = -1;
    attached_remove(g->attached, p->entry);
    p->entry = -1;
    g->gone[g->n_gone++ % GUESTS_GONE] = p->host_pid ? p->host_pid : p->pid;
}

/*
 * Whether a pipe names the process.  This is for one that no longer exists, and that
 * nobody has examined: a lie lasts until the next round, which finds no such process and
 * frees the pipe.
 */
static bool pipes_name(const struct guests *g, pid_t pid)
{
    const uint32_t high = mempipe_host_pipes_high(g->host);

    for (uint32_t i = 0; i < high; i++) {
        const struct mempipe_pipe *p = &g->host->pipes[i];

        if (__atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid &&
            __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != MEMPIPE_FREE) {
            return true;
        }
    }
    return false;
}

bool guests_is_ours(const struct guests *g, pid_t pid)
{
    struct attached_process at;

    if (pid <= 0) {
        return false; /* from outside of our namespace */
    }
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->host_pid == pid) {
            return true;
        }
    }
    for (unsigned i = 0; i < GUESTS_GONE; i++) {
        if (g->gone[i] == pid) {
            return true;
        }
    }
    if (attached_query(&g->attached->file, pid, &at)) {
        attached_close(&at);
        return true;
    }
    return attached_maps(&g->attached->file, pid) == -ESRCH && pipes_name(g, pid);
}

bool guests_has_strangers(const struct guests *g)
{
    return !g->ended && attached_count(g->attached) > 0;
}

static bool has_ended(const struct guest_process *p)
{
    uint64_t start;
    pid_t parent;

    if (p->pidfd >= 0) {
        return attached_has_ended(p->pidfd);
    }
    return !p->host_pid || attached_stat(p->host_pid, &parent, &start) ||
           start != p->start;
}

/* Whether a process inside execve has become a program that is not recorded. */
static bool has_left(const struct guests *g, struct guest_process *p, uint64_t now_ns)
{
    struct attached_process at;

    if (attached_query(&g->attached->file, p->host_pid, &at)) {
        attached_close(&at);
        p->limbo_ns = 0;
        return false;
    }
    if (!attached_is_qemu(p->host_pid)) {
        return true;
    }
    p->limbo_ns = p->limbo_ns ? p->limbo_ns : now_ns;
    return now_ns - p->limbo_ns > LIMBO_NS;
}

void guests_poll(struct guests *g, bool look_exec, uint64_t now_ns)
{
    if (!__atomic_exchange_n(&g->deaths, false, __ATOMIC_ACQUIRE) && !look_exec &&
        !g->unwatched) {
        return;
    }
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->dead) {
            continue;
        }
        p->dead = p->replaced || has_ended(p);
        if (!p->dead && look_exec && p->exec_pending && has_left(g, p, now_ns)) {
            p->dead = true;
            p->execed = true;
        }
    }
}
