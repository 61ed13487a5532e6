/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher sleeps on a futex, the deaths of processes come through
 * descriptors: a thread of its own turns the one into the other.  It only
 * rings; which processes have ended is found out by asking each pidfd.
 */
#include "guests.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf_target.h"

/* A QEMU that replaced a traced program and has not come to us in this time is on
 * its own: it was started without -cannoli. */
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

int guests_open(struct guests *g, struct mempipe_host *host)
{
    struct epoll_event ev = {.events = EPOLLIN};
    sigset_t all, old;
    int err;

    memset(g, 0, sizeof(*g));
    g->host = host;
    g->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (g->epoll < 0) {
        return -errno;
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
    return err;
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
        free(p);
    }
}

struct guest_process *guests_find(struct guests *g, pid_t pid)
{
    for (struct guest_process *p = g->processes; p; p = p->next) {
        if (p->pid == pid && !p->execed && !p->replaced) {
            return p;
        }
    }
    return NULL;
}

struct guest_process *guests_add(struct guests *g, pid_t pid, pid_t ppid)
{
    struct guest_process *p = calloc(1, sizeof(*p));
    struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT};

    if (!p) {
        return NULL;
    }
    p->pid = pid;
    p->ppid = ppid;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    /* Without one, because it is gone or because there are no descriptors left,
     * guests_poll asks by number. */
    if (p->pidfd >= 0) {
        ev.data.fd = p->pidfd;
        epoll_ctl(g->epoll, EPOLL_CTL_ADD, p->pidfd, &ev);
    } else {
        g->unwatched++;
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
    } else {
        g->unwatched--;
    }
}

/* Whether the process still maps our memory; if it may not be asked, it does. */
static bool maps_pipe(const struct guests *g, pid_t pid)
{
    char name[64], *line = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    f = fopen(name, "re");
    if (!f) {
        return errno != ENOENT && errno != ESRCH;
    }
    while (!found && getline(&line, &cap, f) > 0) {
        unsigned long ino;
        found = sscanf(line, "%*s %*s %*s %*s %lu", &ino) == 1 && ino == g->host->ino &&
                strstr(line, "/memfd:cannoli");
    }
    free(line);
    fclose(f);
    return found;
}

/*
 * Whether the process has become a patched QEMU, by execve with --follow-exec or
 * binfmt_misc, which then is about to come alive in a pipe.
 */
static bool is_qemu(pid_t pid)
{
    char name[64];
    unsigned version;

    snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    return elf_cannoli_version(name, &version) == ELF_NOTE_FOUND;
}

static bool has_ended(const struct guest_process *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

    if (p->pidfd >= 0) {
        return poll(&fd, 1, 0) == 1;
    }
    return kill(p->pid, 0) < 0 && errno == ESRCH;
}

/* Whether a process inside execve has become a program that is not recorded. */
static bool has_left(const struct guests *g, struct guest_process *p, uint64_t now_ns)
{
    if (maps_pipe(g, p->pid)) {
        p->limbo_ns = 0;
        return false;
    }
    if (!is_qemu(p->pid)) {
        return true;
    }
    p->limbo_ns = p->limbo_ns ? p->limbo_ns : now_ns;
    return now_ns - p->limbo_ns > LIMBO_NS;
}

void guests_replace(struct guests *g, struct guest_process *p)
{
    if (!has_ended(p) || p->exec_pending) {
        p->execed = true;
    }
    p->replaced = true;
    /* pairs with the exchange in guests_poll */
    __atomic_store_n(&g->deaths, true, __ATOMIC_RELEASE);
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
