/* SPDX-License-Identifier: MIT */
/*
 * Which processes are attached to the shared memory, according to the system.  A guest
 * may write any process's number into its pipes, so such a number is only a hint where to
 * look.  A process is attached if it maps the file (/proc/PID/maps, by device and inode).
 * If the system does not show that (a program that is no longer dumpable), it is attached
 * if its command line is that of a QEMU of this recording.
 *
 * All numbers are of the recorder's own PID namespace unless said otherwise.  A number is
 * only used together with a pidfd that was opened before the process was examined, or
 * with the time at which the process started: numbers are reused, these are not.
 *
 * Any thread may call these functions, and so may the watchdog.
 */
#ifndef RECORDER_ATTACHED_H
#define RECORDER_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What to look for; set once, then only read. */
struct attached_file {
    char entry[48];   /* how /proc/PID/maps names the shared memory's second file */
    ino_t ino;        /* its inode */
    int32_t recorder; /* it maps the file, too */
    int32_t ctl_fd;   /* the first file, by which QEMUs that a guest starts name it */
};

/* A process that was found to be attached: it may hide that later. */
struct attached_known {
    int32_t pid; /* 0: the entry is free (release) */
    uint64_t start;
};

/* Memory that the recorder and its watchdog share, and no guest. */
#define ATTACHED_KNOWN 16384
struct attached_shared {
    struct attached_file file;
    struct attached_known known[ATTACHED_KNOWN];
    uint32_t n_known; /* entries that were ever used are below this number */
    int32_t watchdog; /* its pid; it maps the file, too */
};

enum attached_answer {
    ATTACHED_NOT,         /* it is another process, or has ended */
    ATTACHED_SHOWN,       /* it maps the file */
    ATTACHED_HIDDEN_QEMU, /* that cannot be seen, but it is a QEMU of this recording */
};

struct attached_process {
    pid_t pid;
    int pidfd;      /* attached_close it; -1: there are no descriptors left */
    uint64_t start; /* clock ticks since boot, as /proc/PID/stat has it */
};

/* `ctl_fd' is the recorder's descriptor of the first file. */
void attached_file_init(struct attached_file *f, dev_t dev, ino_t ino, int ctl_fd);

/*
 * Whether the process maps the file: 1, 0, or a negated errno value: -ESRCH if there is
 * no such process or it is about to end, another value if the system does not permit the
 * query.  Async-signal-safe.
 */
int attached_maps(const struct attached_file *f, pid_t pid);

/* Whether /proc shows processes.  Without it nothing here works. */
bool attached_possible(void);

/* Identifies the process with this number.  Fills in `out' unless the answer is
 * ATTACHED_NOT. */
enum attached_answer attached_query(const struct attached_file *f, pid_t pid,
                                    struct attached_process *out);

/*
 * Searches for an attached process in a PID namespace below ours that has this number
 * there.  Calls `known' for each candidate: true means that it is another process.
 * Prefers one whose parent is `parent' (0: not known).
 */
enum attached_answer attached_search(const struct attached_file *f, pid_t nested,
                                     pid_t parent,
                                     bool (*known)(void *arg, pid_t pid, uint64_t start),
                                     void *arg, struct attached_process *out);

/*
 * Notes a process for attached_kill_all, which then finds it even if it unmaps the file.
 * Returns the number of the entry, or -1 if all are used.  The main thread only.
 */
int attached_add(struct attached_shared *s, pid_t pid, uint64_t start);
void attached_remove(struct attached_shared *s, int entry);

/*
 * Sends SIGKILL to every attached process except the recorder and its watchdog.  Returns
 * how many of them had not ended.
 */
unsigned attached_kill_all(const struct attached_shared *s);

/* How many processes are attached, without the recorder and its watchdog. */
unsigned attached_count(const struct attached_shared *s);

/* Opens a process that is about to attach itself, whichever it is; false: it is gone. */
bool attached_open(pid_t pid, struct attached_process *out);

/* Whether the process of a pidfd has ended: a zombie has. */
bool attached_has_ended(int pidfd);

/* Closes the pidfd, if there is one. */
void attached_close(struct attached_process *p);

/* Reads parent and time of start; 0, or a negated errno value. */
int attached_stat(pid_t pid, pid_t *parent, uint64_t *start);

/* Whether the process became a patched QEMU by execve, which is then about to attach
 * itself. */
bool attached_is_qemu(pid_t pid);

#endif
