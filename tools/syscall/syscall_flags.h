/* SPDX-License-Identifier: MIT */
/* Names of flags and numbers in arguments of system calls. */
#ifndef TOOLS_SYSCALL_FLAGS_H
#define TOOLS_SYSCALL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"
#include "common/textbuf.h"

/* Tables end with a name that is NULL. */
struct guest_flag {
    uint32_t value;
    const char *name;
};

/* The same on all machines. */
enum syscall_flag_set {
    FLAG_ACCESS,
    FLAG_AT,
    FLAG_EACCESS,
    FLAG_PROT,
    FLAG_CLONE,
    FLAG_WHENCE,
    FLAG_MREMAP,
    FLAG_MSYNC,
    FLAG_MADVISE,
    FLAG_FUTEX,
    FLAG_FUTEX_FLAGS,
    FLAG_CLOCKID,
    FLAG_TIMER,
    FLAG_FCNTL,
    FLAG_FD,
    FLAG_RLIMIT,
    FLAG_SIGHOW,
    FLAG_WAIT,
    FLAG_IDTYPE,
    FLAG_FAMILY,
    FLAG_MSG,
    FLAG_SHUT,
    FLAG_EPOLL_OP,
    FLAG_POLL,
    FLAG_EPOLL,
    FLAG_TFD_TIMER,
    FLAG_RESOLVE,
    FLAG_GRND,
    FLAG_MEMFD,
    FLAG_MLOCKALL,
    FLAG_UMOUNT,
    FLAG_RENAME,
    FLAG_FLOCK,
    FLAG_FALLOC,
    FLAG_PRCTL,
    FLAG_ARCH_PRCTL,
    FLAG_IOCTL,
    FLAG_STATX,
    FLAG_FADVISE,
    FLAG_PRIO,
    FLAG_RUSAGE,
    FLAG_ITIMER,
    FLAG_SCHED,
    FLAG_SPLICE,
    FLAG_SECCOMP,
    FLAG_MEMBARRIER,
    FLAG_RSEQ,
    FLAG_SOCKTYPE,
    FLAG_SS,
    FLAG_SA,
    FLAG_CLOSE_RANGE,
    FLAG_LANDLOCK,
    FLAG_SHM,
};

/* Each returns false when there is no memory. */
bool syscall_put_flags(struct textbuf *b, enum syscall_flag_set set, uint64_t v);
/* "A|B|0x40": the bits of a table; `first' is put before them, NULL: nothing. */
bool syscall_put_bits(struct textbuf *b, const struct guest_flag *t, uint64_t v,
                      const char *first);

/* The name of one value, or NULL. */
const char *syscall_value_name(const struct guest_flag *t, uint64_t v);
const char *syscall_flag_name(enum syscall_flag_set set, uint64_t v);

/* Different between machines. */
bool guest_put_open_flags(struct textbuf *b, const struct guest *g, uint64_t v);
bool guest_put_mmap_flags(struct textbuf *b, const struct guest *g, uint64_t v);
bool guest_put_socket_type(struct textbuf *b, const struct guest *g, uint64_t v);
/* O_NONBLOCK and O_CLOEXEC, of pipe2(2) and similar calls. */
bool guest_put_fd_flags(struct textbuf *b, const struct guest *g, uint64_t v);
/* The same with the names that a call has for them, such as "EFD" for EFD_CLOEXEC. */
bool guest_put_named_fd_flags(struct textbuf *b, const struct guest *g,
                              const char *prefix, uint64_t v);
bool guest_put_sa_flags(struct textbuf *b, const struct guest *g, uint64_t v);
const char *guest_sigmask_how(const struct guest *g, uint64_t v);
const char *guest_fcntl_name(const struct guest *g, uint64_t v);
const char *guest_rlimit_name(const struct guest *g, uint64_t v);
const char *guest_madvise_name(const struct guest *g, uint64_t v);
const char *guest_ioctl_name(const struct guest *g, uint64_t v);
bool guest_put_prot(struct textbuf *b, const struct guest *g, uint64_t v);

#endif
