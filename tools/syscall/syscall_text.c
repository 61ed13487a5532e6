/* SPDX-License-Identifier: MIT */
/* Formats arguments and results of system calls; syscall_struct.c formats memory. */
#include "syscall/syscall_text.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "syscall/syscall_flags.h"

/* Arguments shown for a call with an unknown name. */
#define UNKNOWN_ARGS 6u

static bool has_name(const struct syscall_call *c, const char *name)
{
    return c->name_len == strlen(name) && !memcmp(c->name, name, c->name_len);
}

bool syscall_result_is_address(const struct syscall_call *c)
{
    return c->desc ? c->desc->result == R_HEX : c->result < -4095;
}

/* ------------------------------------------------------- which arguments */

/* Machines whose mmap takes the address of an array with all six words. */
static bool is_old_mmap(const struct syscall_call *c)
{
    unsigned m = c->guest->abi->e_machine;

    return (m == EM_386 || m == EM_ARM || m == EM_68K || m == EM_S390) &&
           has_name(c, "mmap");
}

/* Some calls use fewer arguments than the table lists. */
static unsigned wanted_args(const struct syscall_call *c, unsigned n)
{
    uint64_t a1 = c->args[1];
    const char *cmd;

    if (is_old_mmap(c)) {
        return 1;
    }
    if (has_name(c, "open") || has_name(c, "openat")) {
        struct textbuf b = {0};
        bool creates =
            guest_put_open_flags(&b, c->guest, guest_word(c->guest, c->args[n - 2])) &&
            (memmem(b.data, b.len, "O_CREAT", 7) ||
             memmem(b.data, b.len, "O_TMPFILE", 9));
        textbuf_fini(&b);
        return creates ? n : n - 1;
    }
    if (has_name(c, "fcntl") || has_name(c, "fcntl64")) {
        cmd = guest_fcntl_name(c->guest, (uint32_t)a1);
        return cmd && !strncmp(cmd, "F_GET", 5) && strcmp(cmd, "F_GETLK") != 0 &&
                       strcmp(cmd, "F_GETLK64") != 0 && strcmp(cmd, "F_GETOWN_EX") != 0
                   ? 2
                   : n;
    }
    if (has_name(c, "mremap")) {
        return c->args[3] & 2 ? n : 4;
    }
    if (has_name(c, "futex") || has_name(c, "futex_time64")) {
        static const uint8_t args[] = {4, 3, 3, 5, 6, 6, 4, 2, 2, 6, 6, 6, 6, 4};
        uint64_t op = a1 & 0x7f;
        return op < sizeof(args) ? args[op] : n;
    }
    if (c->guest->abi->clone == CLONE_STACK_SIZE && has_name(c, "clone")) {
        return 6;
    }
    return n;
}

/* Registers of a type, the first of them being number i. */
static unsigned registers(const struct syscall_call *c, enum syscall_arg type, unsigned i)
{
    const struct guest *g = c->guest;
    bool even;

    if (type != A_OFF64 || g->wide_pairs) {
        return 1;
    }
    /* SuperH has a gap in these two calls only. */
    even = g->abi->even_pairs || (g->abi->e_machine == EM_SH && i == 3 &&
                                  (has_name(c, "pread64") || has_name(c, "pwrite64")));
    return even && i % 2 ? 3 : 2;
}

static unsigned listed_args(const struct syscall_call *c)
{
    unsigned n = 0;

    while (n < SYSCALL_MAX_ARGS && c->desc->args[n] != A_NONE) {
        n++;
    }
    return wanted_args(c, n);
}

/* --------------------------------------------------------------- numbers */

static bool put_name(struct textbuf *b, const char *name, uint64_t v)
{
    return name ? textbuf_printf(b, "%s", name) : textbuf_printf(b, "%" PRIu64, v);
}

static bool put_hex(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    v = guest_word(c->guest, v);
    return textbuf_printf(b, v ? "0x%" PRIx64 : "%" PRIx64, v);
}

static int64_t signed_word(const struct syscall_call *c, uint64_t v)
{
    return c->guest->word == 4 ? (int32_t)v : (int64_t)v;
}

static bool put_signal(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    char name[GUEST_SIGNAL_MAX];

    return textbuf_printf(
        b, "%s", (uint32_t)v ? guest_signal_name(c->guest, (uint32_t)v, name) : "0");
}

/* Flags of clone and unshare; the lowest byte is a signal. */
static bool put_clone_flags(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    uint64_t flags = guest_word(c->guest, v) & ~(uint64_t)0xff;

    if (!(v & 0xff)) {
        return syscall_put_flags(b, FLAG_CLONE, flags);
    }
    return (!flags ||
            (syscall_put_flags(b, FLAG_CLONE, flags) && textbuf_printf(b, "|"))) &&
           put_signal(b, c, v & 0xff);
}

static bool put_futex_op(struct textbuf *b, uint64_t v)
{
    static const struct guest_flag bits[] = {
        {0x80, "PRIVATE"}, {0x100, "FUTEX_CLOCK_REALTIME"}, {0, NULL}};
    const char *op = syscall_flag_name(FLAG_FUTEX, v & 0x7f);
    bool ok = op ? textbuf_printf(b, "%s", op)
                 : textbuf_printf(b, "0x%x", (unsigned)(v & 0x7f));

    if (ok && v & 0x80) {
        ok = textbuf_printf(b, "_PRIVATE");
        v &= ~(uint64_t)0x80;
    }
    return ok &&
           (!(v & ~(uint64_t)0x7f) ||
            (textbuf_printf(b, "|") && syscall_put_bits(b, bits, v & 0xffffff80u, NULL)));
}

static bool put_fcntl_arg(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    const char *cmd = guest_fcntl_name(c->guest, (uint32_t)c->args[1]);

    if (cmd && !strcmp(cmd, "F_SETFL")) {
        return guest_put_open_flags(b, c->guest, (uint32_t)v);
    }
    if (cmd && !strcmp(cmd, "F_SETFD")) {
        return syscall_put_flags(b, FLAG_FD, (uint32_t)v);
    }
    if (cmd && !strncmp(cmd, "F_DUPFD", 7)) {
        return textbuf_printf(b, "%d", (int)v);
    }
    if (cmd && (strstr(cmd, "SETLK") || strstr(cmd, "GETLK"))) {
        bool wide = strstr(cmd, "64") || strstr(cmd, "OFD");
        enum syscall_arg in = wide ? A_FLOCK64_IN : A_FLOCK_IN;
        enum syscall_arg out = wide ? A_FLOCK64_OUT : A_FLOCK_OUT;
        return syscall_put_memory(b, c, strstr(cmd, "GETLK") ? out : in, v, 0);
    }
    return put_hex(b, c, v);
}

/* What an ioctl's argument points to, as far as it is known here. */
static bool put_ioctl_arg(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    static const struct {
        const char *name;
        uint8_t type;
    } args[] = {
        {"FIONREAD", A_INT_OUT},       {"FIONBIO", A_INT_IN},
        {"FIOASYNC", A_INT_IN},        {"TIOCGPGRP", A_INT_OUT},
        {"TIOCSPGRP", A_INT_IN},       {"TIOCGSID", A_INT_OUT},
        {"TIOCGWINSZ", A_WINSIZE_OUT}, {"TIOCSWINSZ", A_WINSIZE_IN},
    };
    const char *name = guest_ioctl_name(c->guest, (uint32_t)c->args[1]);

    for (size_t i = 0; name && i < sizeof(args) / sizeof(*args); i++) {
        if (!strcmp(args[i].name, name)) {
            return syscall_put_memory(b, c, (enum syscall_arg)args[i].type, v, 0);
        }
    }
    return put_hex(b, c, v);
}

/* The begin of the names that a call has for O_CLOEXEC and O_NONBLOCK, or NULL. */
static const char *fd_flag_prefix(enum syscall_arg type)
{
    switch (type) {
    case A_EPOLL_FLAGS:
        return "EPOLL";
    case A_EFD_FLAGS:
        return "EFD";
    case A_TFD_FLAGS:
        return "TFD";
    case A_SFD_FLAGS:
        return "SFD";
    case A_IN_FLAGS:
        return "IN";
    case A_SOCK_FLAGS:
        return "SOCK";
    default:
        return NULL;
    }
}

static bool put_prctl_arg(struct textbuf *b, const struct syscall_call *c, uint64_t v)
{
    const char *op = syscall_flag_name(FLAG_PRCTL, (uint32_t)c->args[0]);

    if (op && !strcmp(op, "PR_SET_NAME")) {
        return syscall_put_memory(b, c, A_PATH, v, 0);
    }
    if (op && !strcmp(op, "PR_GET_NAME")) {
        return syscall_put_memory(b, c, A_STR_OUT, v, 0);
    }
    return put_hex(b, c, v);
}

/* Types whose names all machines share. */
static int flag_set_of(enum syscall_arg type)
{
    static const struct {
        uint8_t type, set;
    } sets[] = {
        {A_WHENCE, FLAG_WHENCE},
        {A_ACCESS, FLAG_ACCESS},
        {A_AT, FLAG_AT},
        {A_EACCESS, FLAG_EACCESS},
        {A_MREMAP, FLAG_MREMAP},
        {A_MSYNC, FLAG_MSYNC},
        {A_CLOCK, FLAG_CLOCKID},
        {A_TIMER, FLAG_TIMER},
        {A_TFD_TIMER, FLAG_TFD_TIMER},
        {A_WAIT, FLAG_WAIT},
        {A_IDTYPE, FLAG_IDTYPE},
        {A_FAMILY, FLAG_FAMILY},
        {A_MSGFLAGS, FLAG_MSG},
        {A_SHUT, FLAG_SHUT},
        {A_EPOLL_OP, FLAG_EPOLL_OP},
        {A_GRND, FLAG_GRND},
        {A_MEMFD, FLAG_MEMFD},
        {A_MLOCKALL, FLAG_MLOCKALL},
        {A_UMOUNT, FLAG_UMOUNT},
        {A_RENAME, FLAG_RENAME},
        {A_FLOCK, FLAG_FLOCK},
        {A_FALLOC, FLAG_FALLOC},
        {A_PRCTL, FLAG_PRCTL},
        {A_ARCH_PRCTL, FLAG_ARCH_PRCTL},
        {A_STATX, FLAG_STATX},
        {A_FADVISE, FLAG_FADVISE},
        {A_PRIO, FLAG_PRIO},
        {A_RUSAGE, FLAG_RUSAGE},
        {A_ITIMER, FLAG_ITIMER},
        {A_SCHED, FLAG_SCHED},
        {A_SPLICE, FLAG_SPLICE},
        {A_SECCOMP, FLAG_SECCOMP},
        {A_MEMBARRIER, FLAG_MEMBARRIER},
        {A_RSEQ, FLAG_RSEQ},
        {A_CLOSE_RANGE, FLAG_CLOSE_RANGE},
        {A_LANDLOCK, FLAG_LANDLOCK},
        {A_SHM, FLAG_SHM},
    };

    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        if (sets[i].type == type) {
            return sets[i].set;
        }
    }
    return -1;
}

static bool put_arg(struct textbuf *b, const struct syscall_call *c,
                    enum syscall_arg type, uint64_t v, uint64_t next)
{
    const struct guest *g = c->guest;
    const char *prefix;
    int set;

    switch (type) {
    case A_INT:
    case A_FD:
        return textbuf_printf(b, "%d", (int)v);
    case A_UINT:
        return textbuf_printf(b, "%u", (unsigned)v);
    case A_LONG:
        return textbuf_printf(b, "%" PRId64, signed_word(c, v));
    case A_SIZE:
        return textbuf_printf(b, "%" PRIu64, guest_word(g, v));
    case A_OFF64:
        return textbuf_printf(b, "%" PRId64, (int64_t)v);
    case A_HEX:
    case A_DEV:
        return put_hex(b, c, v);
    case A_PTR:
        return syscall_put_address(b, c, v);
    case A_MODE:
        return textbuf_printf(b, "0%o", (unsigned)v);
    case A_ATFD:
        return (int)v == -100 ? textbuf_printf(b, "AT_FDCWD")
                              : textbuf_printf(b, "%d", (int)v);
    case A_SIG:
        return put_signal(b, c, v);
    case A_OPEN:
        return guest_put_open_flags(b, g, (uint32_t)v);
    case A_FDFLAGS:
        return guest_put_fd_flags(b, g, (uint32_t)v);
    case A_PROT:
        return guest_put_prot(b, g, guest_word(g, v));
    case A_MMAP:
        return guest_put_mmap_flags(b, g, (uint32_t)v);
    case A_CLONE:
        return put_clone_flags(b, c, v);
    case A_MADVISE:
        return put_name(b, guest_madvise_name(g, (uint32_t)v), (uint32_t)v);
    case A_FUTEX:
        return put_futex_op(b, (uint32_t)v);
    case A_FCNTL:
        return put_name(b, guest_fcntl_name(g, (uint32_t)v), (uint32_t)v);
    case A_FCNTL_ARG:
        return put_fcntl_arg(b, c, v);
    case A_PRCTL_ARG:
        return put_prctl_arg(b, c, v);
    case A_RLIMIT:
        return put_name(b, guest_rlimit_name(g, (uint32_t)v), (uint32_t)v);
    case A_SIGHOW:
        return put_name(b, guest_sigmask_how(g, (uint32_t)v), (uint32_t)v);
    case A_SOCKTYPE:
        return guest_put_socket_type(b, g, (uint32_t)v);
    case A_IOCTL_ARG:
        return put_ioctl_arg(b, c, v);
    case A_SOCKLEVEL:
        return syscall_put_sock_level(b, g, (uint32_t)v);
    case A_SOCKOPT:
        return syscall_put_sock_option(b, g, (uint32_t)c->args[1], (uint32_t)v);
    case A_IOCTL: {
        const char *name = guest_ioctl_name(g, (uint32_t)v);
        return name ? textbuf_printf(b, "%s", name)
                    : textbuf_printf(b, "0x%x", (unsigned)v);
    }
    default:
        prefix = fd_flag_prefix(type);
        if (prefix) {
            return guest_put_named_fd_flags(b, g, prefix, (uint32_t)v);
        }
        set = flag_set_of(type);
        return set >= 0 ? syscall_put_flags(b, (enum syscall_flag_set)set, (uint32_t)v)
                        : syscall_put_memory(b, c, type, v, next);
    }
}

/* ------------------------------------------------------- arguments, result */

/* clone(2) with the names of its arguments; their order differs between machines. */
static bool put_clone_arg(struct textbuf *b, const struct syscall_call *c, unsigned i)
{
    static const char *const names[][6] = {
        [CLONE_TLS_LAST] = {"flags", "child_stack", "parent_tid", "child_tid", "tls"},
        [CLONE_TLS_FOURTH] = {"flags", "child_stack", "parent_tid", "tls", "child_tid"},
        [CLONE_STACK_FIRST] = {"child_stack", "flags", "parent_tid", "child_tid", "tls"},
        [CLONE_STACK_SIZE] = {"flags", "child_stack", "stack_size", "parent_tid",
                              "child_tid", "tls"},
    };
    const char *name = names[c->guest->abi->clone][i];

    if (!textbuf_printf(b, "%s=", name)) {
        return false;
    }
    if (!strcmp(name, "flags")) {
        return put_clone_flags(b, c, c->args[i]);
    }
    return syscall_put_address(b, c, c->args[i]);
}

/* The six words that the argument of an old mmap points to. */
static bool put_old_mmap(struct textbuf *b, const struct syscall_call *c)
{
    static const enum syscall_arg types[] = {A_PTR, A_SIZE, A_PROT, A_MMAP, A_FD, A_HEX};
    static const char *const names[] = {
        "{addr=", ", length=", ", prot=", ", flags=", ", fd=", ", offset="};
    uint8_t words[6 * 8];
    unsigned w = c->guest->word;
    bool ok = true;

    if (syscall_memory(c, false, c->args[0], words, 6 * w) < 6 * w) {
        return syscall_put_address(b, c, c->args[0]);
    }
    for (unsigned i = 0; ok && i < 6; i++) {
        ok = textbuf_printf(b, "%s", names[i]) &&
             put_arg(b, c, types[i], guest_load(c->guest, words + i * w, w), 0);
    }
    return ok && textbuf_printf(b, "}");
}

int syscall_put_args(struct textbuf *b, const struct syscall_call *c,
                     struct syscall_shown_arg arg[SYSCALL_MAX_ARGS])
{
    unsigned n = c->desc ? listed_args(c) : UNKNOWN_ARGS, reg = 0, i;

    for (i = 0; i < n && reg < SYSCALL_MAX_ARGS; i++) {
        enum syscall_arg type = c->desc ? (enum syscall_arg)c->desc->args[i] : A_HEX;
        unsigned regs = registers(c, type, reg);
        uint64_t v = type == A_OFF64 ? c->args[reg] : guest_word(c->guest, c->args[reg]);
        bool ok;
        if (regs > 1) {
            unsigned first = reg + regs - 2;
            uint64_t lo, hi;
            if (first + 1 >= SYSCALL_MAX_ARGS) {
                break;
            }
            lo = (uint32_t)c->args[first + c->guest->big_endian];
            hi = (uint32_t)c->args[first + !c->guest->big_endian];
            v = hi << 32 | lo;
        }
        reg += regs;
        if (c->desc && has_name(c, "clone")) {
            ok = put_clone_arg(b, c, i);
        } else if (is_old_mmap(c)) {
            ok = put_old_mmap(b, c);
        } else {
            ok = put_arg(b, c, type, v, reg < SYSCALL_MAX_ARGS ? c->args[reg] : 0);
        }
        if (!ok) {
            return -1;
        }
        arg[i] = (struct syscall_shown_arg){v, b->len};
    }
    return (int)i;
}

static bool put_fcntl_result(struct textbuf *b, const struct syscall_call *c)
{
    const char *cmd = guest_fcntl_name(c->guest, (uint32_t)c->args[1]);
    uint64_t v = (uint64_t)c->result;
    bool ok;

    if (cmd && !strcmp(cmd, "F_GETFL")) {
        return put_hex(b, c, v) && textbuf_printf(b, " (flags ") &&
               guest_put_open_flags(b, c->guest, v) && textbuf_printf(b, ")");
    }
    ok = textbuf_printf(b, "%" PRId64, c->result);
    if (ok && v && cmd && !strcmp(cmd, "F_GETFD")) {
        ok = textbuf_printf(b, " (flags ") && syscall_put_flags(b, FLAG_FD, v) &&
             textbuf_printf(b, ")");
    }
    return ok;
}

bool syscall_put_result(struct textbuf *b, const struct syscall_call *c)
{
    unsigned error = syscall_error(c);
    const char *name, *text;

    if (!c->returned || c->no_result) {
        return textbuf_printf(b, "?");
    }
    if (error) {
        name = guest_errno_name(c->guest, error);
        text = guest_errno_text(c->guest, error);
        return name ? textbuf_printf(b, "-1 %s (%s)", name, text)
                    : textbuf_printf(b, "-1 (errno %u)", error);
    }
    if (syscall_result_is_address(c)) {
        return put_hex(b, c, (uint64_t)c->result);
    }
    switch (c->desc ? (enum syscall_result)c->desc->result : R_DEC) {
    case R_OCT:
        return textbuf_printf(b, "0%" PRIo64, (uint64_t)c->result);
    case R_FD_FLAGS:
        return put_fcntl_result(b, c);
    default:
        return textbuf_printf(b, "%" PRId64, c->result);
    }
}
