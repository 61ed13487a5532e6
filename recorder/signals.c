/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers must find their data without an argument, so this file holds
 * the only mutable state of file scope: flags, and whose doorbell to ring.
 */
#include "signals.h"

#include <errno.h>
#include <string.h>

static const int changed[SIGNALS_CHANGED] = {
    SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE, SIGXFSZ,
    SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR2, SIGUSR1, /* these two last */
};

static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t child_changed;
static unsigned user_signals[2]; /* atomic */
static struct mempipe_host *volatile bell;
static const struct attached_file *volatile attached;

/*
 * Signals that a process sent.  kill(0, SIGTERM) in a guest means the processes that the
 * guest knows of, not the recorder.  The handler identifies the sender, which is then most
 * likely still there; the main loop finds out what cannot be seen then.  What does not
 * fit is treated as the user's.
 */
#define SENT 64
static struct sent {
    int sig;
    pid_t pid;
    bool guest; /* for sure */
    bool valid; /* atomic: written last, read first */
} sent[SENT];
static unsigned n_sent; /* atomic */

static void count(int sig)
{
    if (sig == SIGUSR1 || sig == SIGUSR2) {
        /* pairs with the exchange in signals_user */
        __atomic_fetch_add(&user_signals[sig == SIGUSR2], 1, __ATOMIC_RELAXED);
    } else if (sig != SIGINT || ++interrupts == 2) {
        if (!end_signal) {
            end_signal = sig;
        }
    }
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    struct mempipe_host *host = bell;

    (void)context;
    if (sig == SIGCHLD) {
        child_changed = 1;
    } else if (host && info->si_code <= 0) {
        struct sent *s = &sent[__atomic_fetch_add(&n_sent, 1, __ATOMIC_RELAXED) % SENT];

        if (__atomic_load_n(&s->valid, __ATOMIC_ACQUIRE)) {
            count(sig);
        } else {
            const struct attached_file *file = attached;

            s->sig = sig;
            s->pid = info->si_pid;
            s->guest = file && attached_maps(file, s->pid) > 0;
            __atomic_store_n(&s->valid, true, __ATOMIC_RELEASE);
        }
    } else {
        count(sig);
    }
    if (host) {
        mempipe_host_ring(host);
    }
    errno = saved_errno;
}

void signals_sort(bool (*is_guest)(void *arg, pid_t pid), void *arg)
{
    for (unsigned i = 0; i < SENT; i++) {
        struct sent *s = &sent[i];

        if (__atomic_load_n(&s->valid, __ATOMIC_ACQUIRE)) {
            const struct sent one = *s;

            __atomic_store_n(&s->valid, false, __ATOMIC_RELEASE);
            if (!one.guest && !is_guest(arg, one.pid)) {
                count(one.sig);
            }
        }
    }
}

void signals_install(struct signals_saved *saved, enum signals_user user)
{
    sigset_t ours;

    interrupts = 0;
    end_signal = 0;
    child_changed = 0;
    saved->changed = SIGNALS_CHANGED - 2 + user;
    sigemptyset(&ours);
    for (unsigned i = 0; i < saved->changed; i++) {
        struct sigaction sa;
        int sig = changed[i];

        memset(&sa, 0, sizeof(sa));
        sigemptyset(&sa.sa_mask);
        sigaction(sig, NULL, &saved->old[i]);
        if (sig == SIGCHLD || sig == SIGUSR1 || sig == SIGUSR2 ||
            ((sig == SIGINT || sig == SIGTERM || sig == SIGHUP) &&
             saved->old[i].sa_handler != SIG_IGN)) {
            sa.sa_sigaction = on_signal;
            sa.sa_flags = SA_SIGINFO;
        } else {
            sa.sa_handler = SIG_IGN;
        }
        sigaction(sig, &sa, NULL);
        sigaddset(&ours, sig);
    }
    sigprocmask(SIG_UNBLOCK, &ours, &saved->mask);
}

void signals_set_bell(struct mempipe_host *host, const struct attached_file *file)
{
    attached = file;
    bell = host;
}

void signals_restore(const struct signals_saved *saved)
{
    bell = NULL;
    for (unsigned i = 0; i < saved->changed; i++) {
        sigaction(changed[i], &saved->old[i], NULL);
    }
    sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

int signals_end_wanted(void)
{
    return end_signal;
}

unsigned signals_user(int sig)
{
    return __atomic_exchange_n(&user_signals[sig == SIGUSR2], 0, __ATOMIC_RELAXED);
}

bool signals_child_changed(void)
{
    if (!child_changed) {
        return false;
    }
    child_changed = 0;
    return true;
}

void signals_stop_self(int sig)
{
    struct sigaction dfl, old;
    sigset_t set, mask;

    memset(&dfl, 0, sizeof(dfl));
    dfl.sa_handler = SIG_DFL;
    sigaction(sig, &dfl, &old);
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_UNBLOCK, &set, &mask);
    raise(sig);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(sig, &old, NULL);
}
