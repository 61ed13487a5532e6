/* SPDX-License-Identifier: MIT */
/* The types of the arguments of Linux system calls, by the call's name. */
#ifndef TOOLS_SYSCALL_TABLE_H
#define TOOLS_SYSCALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Types of arguments; each takes one register unless noted otherwise. */
enum syscall_arg {
    A_NONE, /* ends the list */
    A_INT,  /* 32 bits, signed */
    A_UINT,
    A_LONG, /* a word, signed */
    A_SIZE, /* a word, unsigned */
    A_HEX,
    A_PTR,
    A_MODE, /* octal */
    A_DEV,
    A_FD,
    A_ATFD,  /* AT_FDCWD */
    A_OFF64, /* on 32-bit machines two registers */
    A_SIG,
    /* memory that the call reads */
    A_PATH,   /* a string, whole */
    A_STRV,   /* array of strings, as of execve */
    A_ENVV,   /* such an array, of which only the number is shown */
    A_BUF_IN, /* size in bytes: the next argument */
    A_IOV_IN, /* as many as the next argument says */
    A_TIMESPEC_IN,
    A_TIMESPEC64_IN, /* 64-bit seconds on all machines */
    A_TIMESPECS_IN,  /* two of them: utimensat */
    A_TIMESPECS64_IN,
    A_TIMEVAL_IN,
    A_ITIMERVAL_IN,
    A_SIGACTION_IN,
    A_SIGSET_IN,
    A_SIGSTACK_IN,
    A_SOCKADDR_IN,
    A_RLIMIT_IN,
    A_RLIMIT64_IN,
    A_EPOLL_IN,
    A_INT_IN,
    A_MSG_IN,
    A_ITIMERSPEC_IN,
    A_ITIMERSPEC64_IN,
    A_SOCKVALUE_IN, /* setsockopt */
    A_FLOCK_IN,
    A_FLOCK64_IN,
    A_FDSET,   /* size in bits: the first argument */
    A_CPUS_IN, /* size in bytes: the argument before it */
    A_OPEN_HOW_IN,
    A_WINSIZE_IN,
    /* memory that the call writes; an address if it failed */
    A_BUF_OUT, /* size in bytes: the result */
    A_STR_OUT, /* a string */
    A_IOV_OUT, /* as many as the next argument says */
    A_TIMESPEC_OUT,
    A_TIMESPEC64_OUT,
    A_TIMEVAL_OUT,
    A_ITIMERVAL_OUT,
    A_SIGACTION_OUT,
    A_SIGSET_OUT,
    A_SIGSTACK_OUT,
    A_SOCKADDR_OUT,
    A_RLIMIT_OUT,
    A_RLIMIT64_OUT,
    A_INT_OUT,
    A_OFF64_OUT,
    A_PAIR_OUT, /* two ints: pipe, socketpair */
    A_WSTATUS_OUT,
    A_STAT_OUT,
    A_STAT64_OUT,
    A_STATX_OUT,
    A_UTSNAME_OUT,
    A_EPOLL_OUT, /* as many as the result says */
    A_MSG_OUT,
    A_ITIMERSPEC_OUT,
    A_ITIMERSPEC64_OUT,
    A_SOCKVALUE_OUT, /* getsockopt; its size is at the next argument */
    A_FLOCK_OUT,
    A_FLOCK64_OUT,
    A_CPUS_OUT, /* size in bytes: the result */
    A_STATFS_OUT,
    A_STATFS64_OUT,
    A_SYSINFO_OUT,
    A_RUSAGE_OUT,
    A_SIGINFO_OUT,
    A_DENTS64_OUT,
    A_WINSIZE_OUT,
    A_POLL, /* as many as the next argument says; read and written */
    /* numbers with names */
    A_OPEN,
    A_FDFLAGS, /* O_CLOEXEC and the like */
    A_EPOLL_FLAGS,
    A_EFD_FLAGS,
    A_TFD_FLAGS,
    A_SFD_FLAGS,
    A_IN_FLAGS,
    A_SOCK_FLAGS,
    A_TFD_TIMER,
    A_SOCKLEVEL,
    A_SOCKOPT, /* the level is the argument before it */
    A_IOCTL_ARG,
    A_PROT,
    A_MMAP,
    A_CLONE,
    A_WHENCE,
    A_ACCESS,
    A_AT,
    A_EACCESS,
    A_MREMAP,
    A_MSYNC,
    A_MADVISE,
    A_FUTEX,
    A_CLOCK,
    A_TIMER,
    A_FCNTL,
    A_FCNTL_ARG,
    A_RLIMIT,
    A_SIGHOW,
    A_WAIT,
    A_IDTYPE,
    A_FAMILY,
    A_SOCKTYPE,
    A_MSGFLAGS,
    A_SHUT,
    A_EPOLL_OP,
    A_GRND,
    A_MEMFD,
    A_MLOCKALL,
    A_UMOUNT,
    A_RENAME,
    A_FLOCK,
    A_FALLOC,
    A_PRCTL,
    A_PRCTL_ARG,
    A_ARCH_PRCTL,
    A_IOCTL,
    A_STATX,
    A_FADVISE,
    A_PRIO,
    A_RUSAGE,
    A_ITIMER,
    A_SCHED,
    A_SPLICE,
    A_SECCOMP,
    A_MEMBARRIER,
    A_RSEQ,
    A_CLOSE_RANGE,
    A_LANDLOCK,
    A_SHM,
};

enum syscall_result {
    R_DEC,
    R_HEX,      /* an address */
    R_OCT,      /* umask */
    R_FD_FLAGS, /* fcntl: open flags or numbers, depending on the second argument */
    R_NEVER,    /* it does not return */
};

#define SYSCALL_MAX_ARGS 8u

struct syscall_desc {
    const char *name;
    uint8_t args[SYSCALL_MAX_ARGS]; /* enum syscall_arg */
    uint8_t result;                 /* enum syscall_result */
};

/* The description of a call, or NULL if its name is not known. */
const struct syscall_desc *syscall_find(const char *name, size_t len);
/* Entry i of the table, from 0, or NULL past its end. */
const struct syscall_desc *syscall_nth(unsigned i);

#endif
