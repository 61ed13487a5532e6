/* SPDX-License-Identifier: MIT */
/* Flags of system calls whose values differ between machines. */
#include "syscall/syscall_flags.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct guest_flag open_generic[] = {
    {0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"},
    {0x400, "O_APPEND"}, {0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"},
    {0x1000, "O_DSYNC"}, {0x2000, "FASYNC"}, {0x4000, "O_DIRECT"},
    {0x8000, "O_LARGEFILE"}, {0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
    {0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}, {0x410000, "O_TMPFILE"},
    {0x10000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_arm[] = {
    {0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"},
    {0x400, "O_APPEND"}, {0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"},
    {0x1000, "O_DSYNC"}, {0x2000, "FASYNC"}, {0x10000, "O_DIRECT"},
    {0x20000, "O_LARGEFILE"}, {0x8000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
    {0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}, {0x404000, "O_TMPFILE"},
    {0x4000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_ppc[] = {
    {0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"},
    {0x400, "O_APPEND"}, {0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"},
    {0x1000, "O_DSYNC"}, {0x2000, "FASYNC"}, {0x20000, "O_DIRECT"},
    {0x10000, "O_LARGEFILE"}, {0x8000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"},
    {0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}, {0x404000, "O_TMPFILE"},
    {0x4000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_mips[] = {
    {0x100, "O_CREAT"}, {0x400, "O_EXCL"}, {0x800, "O_NOCTTY"}, {0x200, "O_TRUNC"},
    {0x8, "O_APPEND"}, {0x80, "O_NONBLOCK"}, {0x4010, "O_SYNC"}, {0x10, "O_DSYNC"},
    {0x1000, "FASYNC"}, {0x8000, "O_DIRECT"}, {0x2000, "O_LARGEFILE"},
    {0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"}, {0x80000, "O_CLOEXEC"},
    {0x200000, "O_PATH"}, {0x410000, "O_TMPFILE"}, {0x10000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_sparc[] = {
    {0x200, "O_CREAT"}, {0x800, "O_EXCL"}, {0x8000, "O_NOCTTY"}, {0x400, "O_TRUNC"},
    {0x8, "O_APPEND"}, {0x4000, "O_NONBLOCK"}, {0x802000, "O_SYNC"},
    {0x2000, "O_DSYNC"}, {0x40, "FASYNC"}, {0x100000, "O_DIRECT"},
    {0x40000, "O_LARGEFILE"}, {0x20000, "O_NOFOLLOW"}, {0x200000, "O_NOATIME"},
    {0x400000, "O_CLOEXEC"}, {0x1000000, "O_PATH"}, {0x2010000, "O_TMPFILE"},
    {0x10000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_alpha[] = {
    {0x200, "O_CREAT"}, {0x800, "O_EXCL"}, {0x1000, "O_NOCTTY"}, {0x400, "O_TRUNC"},
    {0x8, "O_APPEND"}, {0x4, "O_NONBLOCK"}, {0x404000, "O_SYNC"}, {0x4000, "O_DSYNC"},
    {0x2000, "FASYNC"}, {0x80000, "O_DIRECT"}, {0x10000, "O_NOFOLLOW"},
    {0x100000, "O_NOATIME"}, {0x200000, "O_CLOEXEC"}, {0x800000, "O_PATH"},
    {0x1008000, "O_TMPFILE"}, {0x8000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag open_hppa[] = {
    {0x100, "O_CREAT"}, {0x400, "O_EXCL"}, {0x20000, "O_NOCTTY"}, {0x200, "O_TRUNC"},
    {0x8, "O_APPEND"}, {0x10000, "O_NONBLOCK"}, {0x48000, "O_SYNC"},
    {0x40000, "O_DSYNC"}, {0x2000, "FASYNC"}, {0x4000, "O_DIRECT"},
    {0x800, "O_LARGEFILE"}, {0x80, "O_NOFOLLOW"}, {0x100000, "O_NOATIME"},
    {0x200000, "O_CLOEXEC"}, {0x400000, "O_PATH"}, {0x801000, "O_TMPFILE"},
    {0x1000, "O_DIRECTORY"}, {0, NULL},
};
static const struct guest_flag mmap_generic[] = {
    {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"}, {0x100, "MAP_GROWSDOWN"},
    {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x2000, "MAP_LOCKED"},
    {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"},
    {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x80000, "MAP_SYNC"},
    {0x100000, "MAP_FIXED_NOREPLACE"}, {0, NULL},
};
static const struct guest_flag mmap_mips[] = {
    {0x10, "MAP_FIXED"}, {0x800, "MAP_ANONYMOUS"}, {0x1000, "MAP_GROWSDOWN"},
    {0x2000, "MAP_DENYWRITE"}, {0x4000, "MAP_EXECUTABLE"}, {0x8000, "MAP_LOCKED"},
    {0x400, "MAP_NORESERVE"}, {0x10000, "MAP_POPULATE"}, {0x20000, "MAP_NONBLOCK"},
    {0x40000, "MAP_STACK"}, {0x80000, "MAP_HUGETLB"}, {0x100000, "MAP_FIXED_NOREPLACE"},
    {0, NULL},
};
static const struct guest_flag mmap_sparc[] = {
    {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"}, {0x200, "MAP_GROWSDOWN"},
    {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x100, "MAP_LOCKED"},
    {0x40, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"},
    {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x80000, "MAP_SYNC"},
    {0x100000, "MAP_FIXED_NOREPLACE"}, {0, NULL},
};
static const struct guest_flag mmap_ppc[] = {
    {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"}, {0x100, "MAP_GROWSDOWN"},
    {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x80, "MAP_LOCKED"},
    {0x40, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"},
    {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x80000, "MAP_SYNC"},
    {0x100000, "MAP_FIXED_NOREPLACE"}, {0, NULL},
};
static const struct guest_flag mmap_alpha[] = {
    {0x100, "MAP_FIXED"}, {0x10, "MAP_ANONYMOUS"}, {0x1000, "MAP_GROWSDOWN"},
    {0x2000, "MAP_DENYWRITE"}, {0x4000, "MAP_EXECUTABLE"}, {0x8000, "MAP_LOCKED"},
    {0x10000, "MAP_NORESERVE"}, {0x20000, "MAP_POPULATE"}, {0x40000, "MAP_NONBLOCK"},
    {0x80000, "MAP_STACK"}, {0x100000, "MAP_HUGETLB"},
    {0x200000, "MAP_FIXED_NOREPLACE"}, {0, NULL},
};
static const struct guest_flag mmap_hppa[] = {
    {0x4, "MAP_FIXED"}, {0x10, "MAP_ANONYMOUS"}, {0x8000, "MAP_GROWSDOWN"},
    {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x2000, "MAP_LOCKED"},
    {0x4000, "MAP_NORESERVE"}, {0x10000, "MAP_POPULATE"}, {0x20000, "MAP_NONBLOCK"},
    {0x40000, "MAP_STACK"}, {0x80000, "MAP_HUGETLB"}, {0x100000, "MAP_FIXED_NOREPLACE"},
    {0, NULL},
};
static const struct guest_flag fcntl_mips[] = {
    {0xe, "F_GETLK"}, {0x17, "F_GETOWN"}, {0x18, "F_SETOWN"}, {0x21, "F_GETLK64"},
    {0x22, "F_SETLK64"}, {0x23, "F_SETLKW64"}, {0, NULL},
};
static const struct guest_flag sa_mips[] = {
    {0x1, "SA_NOCLDSTOP"}, {0x10000, "SA_NOCLDWAIT"}, {0x8, "SA_SIGINFO"},
    {0x8000000, "SA_ONSTACK"}, {0x10000000, "SA_RESTART"}, {0x40000000, "SA_NODEFER"},
    {0x80000000, "SA_RESETHAND"}, {0, NULL},
};
static const struct guest_flag sighow_mips[] = {
    {0x1, "SIG_BLOCK"}, {0x2, "SIG_UNBLOCK"}, {0x3, "SIG_SETMASK"}, {0, NULL},
};
static const struct guest_flag fcntl_sparc[] = {
    {0x5, "F_GETOWN"}, {0x6, "F_SETOWN"}, {0x7, "F_GETLK"}, {0x8, "F_SETLK"},
    {0x9, "F_SETLKW"}, {0, NULL},
};
static const struct guest_flag sa_sparc[] = {
    {0x8, "SA_NOCLDSTOP"}, {0x100, "SA_NOCLDWAIT"}, {0x200, "SA_SIGINFO"},
    {0x1, "SA_ONSTACK"}, {0x2, "SA_RESTART"}, {0x20, "SA_NODEFER"},
    {0x4, "SA_RESETHAND"}, {0, NULL},
};
static const struct guest_flag sighow_sparc[] = {
    {0x1, "SIG_BLOCK"}, {0x2, "SIG_UNBLOCK"}, {0x4, "SIG_SETMASK"}, {0, NULL},
};
static const struct guest_flag fcntl_alpha[] = {
    {0x5, "F_SETOWN"}, {0x6, "F_GETOWN"}, {0x7, "F_GETLK"}, {0x8, "F_SETLK"},
    {0x9, "F_SETLKW"}, {0, NULL},
};
static const struct guest_flag sa_alpha[] = {
    {0x4, "SA_NOCLDSTOP"}, {0x20, "SA_NOCLDWAIT"}, {0x40, "SA_SIGINFO"},
    {0x1, "SA_ONSTACK"}, {0x2, "SA_RESTART"}, {0x8, "SA_NODEFER"},
    {0x10, "SA_RESETHAND"}, {0, NULL},
};
static const struct guest_flag sighow_alpha[] = {
    {0x1, "SIG_BLOCK"}, {0x2, "SIG_UNBLOCK"}, {0x3, "SIG_SETMASK"}, {0, NULL},
};
static const struct guest_flag fcntl_hppa[] = {
    {0x8, "F_GETLK64"}, {0x9, "F_SETLK64"}, {0xa, "F_SETLKW64"}, {0xb, "F_GETOWN"},
    {0xc, "F_SETOWN"}, {0xd, "F_SETSIG"}, {0xe, "F_GETSIG"}, {0, NULL},
};
static const struct guest_flag sa_hppa[] = {
    {0x8, "SA_NOCLDSTOP"}, {0x80, "SA_NOCLDWAIT"}, {0x10, "SA_SIGINFO"},
    {0x1, "SA_ONSTACK"}, {0x40, "SA_RESTART"}, {0x20, "SA_NODEFER"},
    {0x4, "SA_RESETHAND"}, {0, NULL},
};

static const struct guest_flag *const open_flags[] = {
    [OPEN_GENERIC] = open_generic, [OPEN_ARM] = open_arm, [OPEN_PPC] = open_ppc,
    [OPEN_MIPS] = open_mips, [OPEN_SPARC] = open_sparc, [OPEN_ALPHA] = open_alpha,
    [OPEN_HPPA] = open_hppa,
};
static const struct guest_flag *const mmap_flags[] = {
    [MMAP_GENERIC] = mmap_generic, [MMAP_MIPS] = mmap_mips, [MMAP_SPARC] = mmap_sparc,
    [MMAP_PPC] = mmap_ppc, [MMAP_ALPHA] = mmap_alpha, [MMAP_HPPA] = mmap_hppa,
};
/* NULL: no differences.  Of fcntl, only the differences. */
static const struct guest_flag *const sa_flags[GUEST_NR_NUMBERS] = {
    [GUEST_MIPS] = sa_mips, [GUEST_SPARC] = sa_sparc, [GUEST_ALPHA] = sa_alpha,
    [GUEST_HPPA] = sa_hppa,
};
static const struct guest_flag *const how_names[GUEST_NR_NUMBERS] = {
    [GUEST_MIPS] = sighow_mips, [GUEST_SPARC] = sighow_sparc, [GUEST_ALPHA] = sighow_alpha,
};
static const struct guest_flag *const fcntl_names[GUEST_NR_NUMBERS] = {
    [GUEST_MIPS] = fcntl_mips, [GUEST_SPARC] = fcntl_sparc, [GUEST_ALPHA] = fcntl_alpha,
    [GUEST_HPPA] = fcntl_hppa,
};
static const struct guest_flag rlimit_mips[] = {
    {5, "RLIMIT_NOFILE"}, {6, "RLIMIT_AS"}, {7, "RLIMIT_RSS"}, {8, "RLIMIT_NPROC"},
    {9, "RLIMIT_MEMLOCK"}, {0, NULL},
};
static const struct guest_flag rlimit_sparc[] = {
    {6, "RLIMIT_NOFILE"}, {7, "RLIMIT_NPROC"}, {0, NULL},
};
static const struct guest_flag rlimit_alpha[] = {
    {6, "RLIMIT_NOFILE"}, {7, "RLIMIT_AS"}, {8, "RLIMIT_NPROC"}, {9, "RLIMIT_MEMLOCK"},
    {0, NULL},
};
static const struct guest_flag *const rlimit_names[GUEST_NR_NUMBERS] = {
    [GUEST_MIPS] = rlimit_mips, [GUEST_SPARC] = rlimit_sparc,
    [GUEST_ALPHA] = rlimit_alpha,
};
/* clang-format on */

bool guest_put_open_flags(struct textbuf *b, const struct guest *g, uint64_t v)
{
    static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};

    return syscall_put_bits(b, open_flags[g->abi->open], v & ~(uint64_t)3, modes[v & 3]);
}

bool guest_put_mmap_flags(struct textbuf *b, const struct guest *g, uint64_t v)
{
    static const char *const types[] = {"MAP_FILE", "MAP_SHARED", "MAP_PRIVATE",
                                        "MAP_SHARED_VALIDATE"};

    return syscall_put_bits(b, mmap_flags[g->abi->mmap], v & ~(uint64_t)3, types[v & 3]);
}

static uint32_t open_flag(const struct guest *g, const char *name)
{
    const struct guest_flag *t = open_flags[g->abi->open];

    while (t->name && strcmp(t->name, name) != 0) {
        t++;
    }
    return t->value;
}

bool guest_put_socket_type(struct textbuf *b, const struct guest *g, uint64_t v)
{
    /* Alpha and HPPA have a bit of its own for this, the others O_NONBLOCK. */
    bool own = g->abi->numbers == GUEST_ALPHA || g->abi->numbers == GUEST_HPPA;
    const struct guest_flag bits[] = {
        {open_flag(g, "O_CLOEXEC"), "SOCK_CLOEXEC"},
        {own ? 0x40000000 : open_flag(g, "O_NONBLOCK"), "SOCK_NONBLOCK"},
        {0, NULL},
    };
    uint64_t type = v & 0xf;
    const char *name;
    char number[24];

    if (g->abi->numbers == GUEST_MIPS && (type == 1 || type == 2)) {
        type = 3 - type;
    }
    name = syscall_flag_name(FLAG_SOCKTYPE, type);
    if (!name) {
        snprintf(number, sizeof(number), "%" PRIu64, type);
        name = number;
    }
    return syscall_put_bits(b, bits, v & ~(uint64_t)0xf, name);
}

bool guest_put_fd_flags(struct textbuf *b, const struct guest *g, uint64_t v)
{
    return syscall_put_bits(b, open_flags[g->abi->open], v, NULL);
}

bool guest_put_named_fd_flags(struct textbuf *b, const struct guest *g,
                              const char *prefix, uint64_t v)
{
    char close[24], nonblock[24];
    bool own = !strcmp(prefix, "SOCK") &&
               (g->abi->numbers == GUEST_ALPHA || g->abi->numbers == GUEST_HPPA);
    const struct guest_flag bits[] = {
        {strcmp(prefix, "EFD") != 0 ? 0 : 1, "EFD_SEMAPHORE"},
        {open_flag(g, "O_CLOEXEC"), close},
        {own ? 0x40000000 : open_flag(g, "O_NONBLOCK"), nonblock},
        {0, NULL},
    };

    snprintf(close, sizeof(close), "%s_CLOEXEC", prefix);
    snprintf(nonblock, sizeof(nonblock), "%s_NONBLOCK", prefix);
    return syscall_put_bits(b, bits, v, NULL);
}

bool guest_put_sa_flags(struct textbuf *b, const struct guest *g, uint64_t v)
{
    const struct guest_flag *t = sa_flags[g->abi->numbers];

    return t ? syscall_put_bits(b, t, v, NULL) : syscall_put_flags(b, FLAG_SA, v);
}

const char *guest_sigmask_how(const struct guest *g, uint64_t v)
{
    const struct guest_flag *t = how_names[g->abi->numbers];

    return t ? syscall_value_name(t, v) : syscall_flag_name(FLAG_SIGHOW, v);
}

const char *guest_fcntl_name(const struct guest *g, uint64_t v)
{
    const char *name = syscall_value_name(fcntl_names[g->abi->numbers], v);

    return name ? name : syscall_flag_name(FLAG_FCNTL, v);
}

const char *guest_rlimit_name(const struct guest *g, uint64_t v)
{
    const char *name = syscall_value_name(rlimit_names[g->abi->numbers], v);

    return name ? name : syscall_flag_name(FLAG_RLIMIT, v);
}

const char *guest_madvise_name(const struct guest *g, uint64_t v)
{
    if (g->abi->numbers == GUEST_ALPHA && (v == 4 || v == 6)) {
        return v == 6 ? "MADV_DONTNEED" : NULL;
    }
    return g->abi->numbers == GUEST_HPPA && v >= 12 ? NULL
                                                    : syscall_flag_name(FLAG_MADVISE, v);
}

const char *guest_ioctl_name(const struct guest *g, uint64_t v)
{
    return g->abi->own_ioctls ? NULL : syscall_flag_name(FLAG_IOCTL, v);
}

bool guest_put_prot(struct textbuf *b, const struct guest *g, uint64_t v)
{
    static const struct guest_flag aarch64[] = {
        {0x1, "PROT_READ"}, {0x2, "PROT_WRITE"}, {0x4, "PROT_EXEC"},
        {0x10, "PROT_BTI"}, {0x20, "PROT_MTE"},  {0, NULL},
    };

    return g->abi->e_machine == EM_AARCH64 && v ? syscall_put_bits(b, aarch64, v, NULL)
                                                : syscall_put_flags(b, FLAG_PROT, v);
}
