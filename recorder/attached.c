/* SPDX-License-Identifier: MIT */
/*
 * See attached.h.  Each function opens the pidfd, reads /proc/PID and, where the answer
 * matters, checks that the process of the pidfd still runs.  While it runs its number
 * cannot be reused, so what was read belongs to this process.
 */
#include "attached.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "elf_target.h"

bool attached_possible(void)
{
    uint64_t start;
    pid_t parent;

    return attached_stat(getpid(), &parent, &start) == 0;
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool attached_has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* Reads the first bytes of /proc/PID/NAME and ends them with a NUL; returns their number
 * or -errno. */
static ssize_t read_proc(pid_t pid, const char *name, char *to, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return -errno;
    }
    n = read(fd, to, size - 1);
    if (n < 0) {
        n = -errno;
    } else {
        to[n] = '\0';
    }
    close(fd);
    return n;
}

int attached_stat(pid_t pid, pid_t *parent, uint64_t *start)
{
    char text[1024], *at;
    ssize_t n = read_proc(pid, "stat", text, sizeof(text));
    int p;

    if (n < 0) {
        return (int)n;
    }
    /* The name of the program is in parentheses and may contain parentheses. */
    at = strrchr(text, ')');
    if (!at || sscanf(at + 1,
                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                      "%*d %*d %*d %" SCNu64,
                      &p, start) != 2) {
        return -EPROTO;
    }
    *parent = p;
    return 0;
}

void attached_file_init(struct attached_file *f, dev_t dev, ino_t ino, int ctl_fd)
{
    *f = (struct attached_file){.ino = ino, .recorder = getpid(), .ctl_fd = ctl_fd};
    snprintf(f->entry, sizeof(f->entry), " %02x:%02x %lu ", major(dev), minor(dev),
             (unsigned long)ino);
}

/* "/proc/PID/maps" without the help of printf, for signal handlers. */
static void maps_name(char name[32], pid_t pid)
{
    char digits[16];
    size_t n = 0, at = strlen("/proc/");

    do {
        digits[n++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid);
    memcpy(name, "/proc/", at);
    while (n) {
        name[at++] = digits[--n];
    }
    memcpy(name + at, "/maps", sizeof("/maps"));
}

int attached_maps(const struct attached_file *f, pid_t pid)
{
    const size_t want = strlen(f->entry);
    char name[32], text[4096];
    size_t kept = 0;
    bool any = false;
    int found = 0, fd;
    ssize_t n;

    if (pid <= 0) {
        return -ESRCH;
    }
    maps_name(name, pid);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? -ESRCH : -errno;
    }
    while (!found && (n = read(fd, text + kept, sizeof(text) - kept)) > 0) {
        const size_t have = kept + (size_t)n;

        any = true;
        found = memmem(text, have, f->entry, want) != NULL;
        /* It may begin at the end of what has been read. */
        kept = have < want ? have : want - 1;
        memmove(text, text + have - kept, kept);
    }
    close(fd);
    /* A process that ends gives its memory back before it is a zombie. */
    return any ? found : -ESRCH;
}

/* Whether `option' is the argument of -cannoli for this recording: see launch.c, and
 * qemu/linux-user/cannoli/exec.c. */
static bool is_option(const struct attached_file *f, const char *option)
{
    unsigned long ino;
    int recorder, fd;

    return (sscanf(option, "pipe=%*d,%*d,%lu", &ino) == 1 && ino == f->ino) ||
           (sscanf(option, "pipe=/proc/%d/fd/%d,", &recorder, &fd) == 2 &&
            recorder == f->recorder && fd == f->ctl_fd);
}

/* Whether the command line is that of a QEMU that the recorder, or a recorded
 * program, started. */
static bool has_option(const struct attached_file *f, pid_t pid)
{
    char text[4096];
    ssize_t n = read_proc(pid, "cmdline", text, sizeof(text));

    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(text + at) + 1) {
        const char *option = text + at + strlen(text + at) + 1;

        if (!strcmp(text + at, "-cannoli") && option < text + n) {
            return is_option(f, option);
        }
    }
    return false;
}

/* The number of the process in its own, innermost, PID namespace if that is below ours; 0
 * otherwise. */
static pid_t nested_number(pid_t pid)
{
    char text[4096], *at, *end;
    unsigned n = 0;
    long number = 0;

    if (read_proc(pid, "status", text, sizeof(text)) < 0) {
        return 0;
    }
    at = strstr(text, "\nNSpid:");
    if (!at) {
        return 0;
    }
    for (at += strlen("\nNSpid:"); *at && *at != '\n'; at = end, n++) {
        long next = strtol(at, &end, 10);

        if (end == at) {
            break;
        }
        number = next;
    }
    return n > 1 ? (pid_t)number : 0;
}

static enum attached_answer look(const struct attached_file *f,
                                 const struct attached_process *p)
{
    enum attached_answer answer = ATTACHED_NOT;
    int maps = attached_maps(f, p->pid);

    if (maps > 0) {
        answer = ATTACHED_SHOWN;
    } else if ((maps == -EACCES || maps == -EPERM) && has_option(f, p->pid)) {
        answer = ATTACHED_HIDDEN_QEMU;
    }
    return answer && p->pidfd >= 0 && attached_has_ended(p->pidfd) ? ATTACHED_NOT
                                                                   : answer;
}

bool attached_open(pid_t pid, struct attached_process *out)
{
    pid_t parent;

    *out = (struct attached_process){.pid = pid, .pidfd = open_pidfd(pid)};
    if (out->pidfd < 0 && errno != EMFILE && errno != ENFILE) {
        return false;
    }
    if (!attached_stat(pid, &parent, &out->start) &&
        (out->pidfd < 0 || !attached_has_ended(out->pidfd))) {
        return true;
    }
    attached_close(out);
    return false;
}

void attached_close(struct attached_process *p)
{
    if (p->pidfd >= 0) {
        close(p->pidfd);
        p->pidfd = -1;
    }
}

enum attached_answer attached_query(const struct attached_file *f, pid_t pid,
                                    struct attached_process *out)
{
    enum attached_answer answer;

    if (pid <= 0 || pid == f->recorder || !attached_open(pid, out)) {
        return ATTACHED_NOT;
    }
    answer = look(f, out);
    if (!answer) {
        attached_close(out);
    }
    return answer;
}

/* The next number in /proc; 0 at the end. */
static pid_t next_pid(DIR *proc)
{
    struct dirent *e;

    while ((e = readdir(proc)) != NULL) {
        if (isdigit((unsigned char)e->d_name[0])) {
            return (pid_t)atoi(e->d_name);
        }
    }
    return 0;
}

enum attached_answer attached_search(const struct attached_file *f, pid_t nested,
                                     pid_t parent,
                                     bool (*known)(void *arg, pid_t pid, uint64_t start),
                                     void *arg, struct attached_process *out)
{
    enum attached_answer best = ATTACHED_NOT;
    bool is_child = false;
    DIR *proc = opendir("/proc");
    pid_t pid;

    while (proc && !is_child && (pid = next_pid(proc)) != 0) {
        struct attached_process p;
        enum attached_answer answer;
        pid_t its_parent = 0;
        uint64_t start;

        if (nested_number(pid) != nested) {
            continue;
        }
        answer = attached_query(f, pid, &p);
        if (!answer) {
            continue;
        }
        attached_stat(pid, &its_parent, &start);
        is_child = parent && its_parent == parent;
        if (known(arg, pid, p.start) || (best && !is_child)) {
            is_child = false;
            attached_close(&p);
            continue;
        }
        if (best) {
            attached_close(out);
        }
        best = answer;
        *out = p;
    }
    if (proc) {
        closedir(proc);
    }
    return best;
}

int attached_add(struct attached_shared *s, pid_t pid, uint64_t start)
{
    uint32_t i = 0;

    while (i < s->n_known && s->known[i].pid) {
        i++;
    }
    if (i == ATTACHED_KNOWN) {
        return -1;
    }
    s->known[i].start = start;
    /* both pair with the acquire loads in for_all */
    __atomic_store_n(&s->known[i].pid, pid, __ATOMIC_RELEASE);
    if (i == s->n_known) {
        __atomic_store_n(&s->n_known, i + 1, __ATOMIC_RELEASE);
    }
    return (int)i;
}

void attached_remove(struct attached_shared *s, int entry)
{
    if (entry >= 0) {
        __atomic_store_n(&s->known[entry].pid, 0, __ATOMIC_RELEASE);
    }
}

/* One process: it is attached if it was started at `start', or if it maps the file. */
static unsigned visit(const struct attached_shared *s, pid_t pid, uint64_t start,
                      bool kill)
{
    int pidfd = open_pidfd(pid);
    uint64_t its_start = 0;
    pid_t parent;
    bool is;

    /* Without descriptors it is not safe to signal a process by its number. */
    if (pidfd < 0) {
        return 0;
    }
    is = attached_stat(pid, &parent, &its_start) == 0 &&
         (its_start == start || attached_maps(&s->file, pid) > 0);
    is = is && !attached_has_ended(pidfd);
    if (is && kill) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    }
    close(pidfd);
    return is;
}

static unsigned for_all(const struct attached_shared *s, bool kill)
{
    const uint32_t known = __atomic_load_n(&s->n_known, __ATOMIC_ACQUIRE);
    DIR *proc = opendir("/proc");
    unsigned n = 0;
    pid_t pid;

    while (proc && (pid = next_pid(proc)) != 0) {
        uint64_t start = 0;

        if (pid == s->file.recorder || pid == getpid() ||
            pid == __atomic_load_n(&s->watchdog, __ATOMIC_RELAXED)) {
            continue;
        }
        for (uint32_t i = 0; i < known; i++) {
            if (__atomic_load_n(&s->known[i].pid, __ATOMIC_ACQUIRE) == pid) {
                start = s->known[i].start;
                break;
            }
        }
        n += visit(s, pid, start, kill);
    }
    if (proc) {
        closedir(proc);
    }
    return n;
}

unsigned attached_kill_all(const struct attached_shared *s)
{
    return for_all(s, true);
}

unsigned attached_count(const struct attached_shared *s)
{
    return for_all(s, false);
}

bool attached_is_qemu(pid_t pid)
{
    char name[64];
    unsigned version;

    snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    return elf_cannoli_version(name, &version) == ELF_NOTE_FOUND;
}
