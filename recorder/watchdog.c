/* SPDX-License-Identifier: MIT */
/*
 * The watchdog waits in a read that nothing but the end of the recorder can
 * finish, so it costs nothing while all goes well.  It is forked before the
 * guest, so that the guest can neither see nor wait for it, and it leaves the
 * session, so that no terminal signal reaches it.
 *
 * Should it be killed as well, the kernel ends the command (PR_SET_PDEATHSIG) and all
 * other recorded processes (lifeline.h) with the recorder.  What has just been forked, and
 * is not known yet, ends when it next waits for the recorder, or begins or ends a system
 * call.
 */
#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char last_words[] =
    "cannoli-record: the recorder was killed, so the recorded program is ended\n";

static void rename_self(int argc, char **argv)
{
    static const char name[] = "ctr-watchdog";
    char *end = argv[0] + strlen(argv[0]) + 1;

    prctl(PR_SET_NAME, name);
    for (int i = 1; i < argc && argv[i] == end; i++) {
        end += strlen(argv[i]) + 1;
    }
    memset(argv[0], 0, (size_t)(end - argv[0]));
    strncpy(argv[0], name, (size_t)(end - argv[0]) - 1);
}

/* Returns 1 if the recorder was killed. */
static int watch(int life, struct watchdog_shared *shared)
{
    const struct timespec tick = {0, 2 * 1000 * 1000};
    unsigned quiet = 0;
    ssize_t n;
    char c;

    do {
        n = read(life, &c, 1);
    } while (n > 0 || (n < 0 && errno == EINTR));
    /* pairs with the store in watchdog_stop */
    if (__atomic_load_n(&shared->finished, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    if (write(STDERR_FILENO, last_words, sizeof(last_words) - 1) < 0) {
        quiet = 0; /* nobody is left who could read it */
    }
    for (; quiet < 50; nanosleep(&tick, NULL)) {
        bool any = attached_kill_all(&shared->attached) > 0;

        /* A fork under way shows up a moment later. */
        quiet = any ? 0 : quiet + 1;
    }
    return 1;
}

static void watchdog_main(int life, struct watchdog_shared *shared,
                          struct mempipe_host *host, const struct rescue_will *will,
                          int argc, char **argv)
{
    struct rescue_will own; /* strings may be among argv */
    bool rescue = will && rescue_copy(&own, will) == 0;
    sigset_t all;
    int null, fd = -1, folder = -1;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    rename_self(argc, argv);
    /* Keep stderr, `life' as number 3, the output as 4 and its folder as 5; whatever else
     * is open is not ours. */
    life = fcntl(life, F_DUPFD_CLOEXEC, 10);
    if (rescue) {
        fd = fcntl(will->out.fd, F_DUPFD_CLOEXEC, 10);
        folder = fcntl(will->out.folder, F_DUPFD_CLOEXEC, 10);
    }
    null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    dup2(life, 3);
    if (fd >= 0) {
        dup2(fd, 4);
    }
    if (folder >= 0) {
        dup2(folder, 5);
    }
    close_range(folder >= 0 ? 6 : fd >= 0 ? 5 : 4, ~0u, 0);
    host->ctl_fd = host->shared_fd = -1;
    if (chdir("/") < 0) {
        return;
    }
    if (watch(3, shared) && fd >= 0) {
        own.out.fd = 4;
        own.out.folder = folder >= 0 ? 5 : -1;
        rescue_execute(&own, host);
    }
}

int watchdog_start(struct watchdog *w, struct mempipe_host *host,
                   const struct rescue_will *will, int argc, char **argv)
{
    int fds[2], err;

    memset(w, 0, sizeof(*w));
    w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->shared == MAP_FAILED) {
        return -errno;
    }
    attached_file_init(&w->shared->attached.file, host->dev, host->ino, host->ctl_fd);
    if (pipe2(fds, O_CLOEXEC) < 0) {
        err = -errno;
        goto out_map;
    }
    w->pid = fork();
    if (w->pid < 0) {
        err = -errno;
        goto out_pipe;
    }
    if (w->pid == 0) {
        close(fds[1]);
        watchdog_main(fds[0], w->shared, host, will, argc, argv);
        _exit(0);
    }
    close(fds[0]);
    w->life = fds[1];
    w->shared->attached.watchdog = w->pid;
    return 0;

out_pipe:
    close(fds[0]);
    close(fds[1]);
out_map:
    munmap(w->shared, sizeof(*w->shared));
    return err;
}

void watchdog_stop(struct watchdog *w)
{
    /* pairs with the load in watch */
    __atomic_store_n(&w->shared->finished, 1, __ATOMIC_RELEASE);
    close(w->life);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    munmap(w->shared, sizeof(*w->shared));
}
