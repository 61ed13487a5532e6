/* SPDX-License-Identifier: MIT */
/*
 * Strings, buffers and structures of system calls, read from the call's memory events
 * in the trace.  If the trace does not have the memory, its address is shown.
 */
#include "syscall/syscall_priv.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "syscall/syscall_flags.h"

/* Limit of shown elements of an array. */
#define MAX_ELEMENTS 32u
/* Alternate layouts of struct epoll_event. */
#define EPOLL_PACKED 12u
#define EPOLL_ALIGNED 16u

/* ----------------------------------------------------------------- memory */

static bool get_word(const struct syscall_call *c, bool write, uint64_t addr, uint64_t *v)
{
    uint8_t bytes[8];

    if (syscall_memory(c, write, addr, bytes, c->guest->word) < c->guest->word) {
        return false;
    }
    *v = guest_load(c->guest, bytes, c->guest->word);
    return true;
}

/* ---------------------------------------------------------------- strings */

/* A string up to its NUL, at most `max' bytes of it. */
static bool put_string(struct textbuf *b, const struct syscall_call *c, bool write,
                       uint64_t addr, size_t max)
{
    uint8_t s[SYSCALL_STRING_MAX];
    size_t got = syscall_memory(c, write, addr, s, max < sizeof(s) ? max : sizeof(s)),
           len;

    if (!got) {
        return syscall_put_address(b, c, addr);
    }
    len = strnlen((const char *)s, got);
    return syscall_put_quoted(b, s, len, len == got);
}

/* Pointers up to a NULL one, with the strings in the call's memory: ["a", "b"]. */
static bool put_strings(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    uint64_t p;
    bool ok;

    if (!get_word(c, false, addr, &p)) {
        return syscall_put_address(b, c, addr);
    }
    ok = textbuf_printf(b, "[");
    for (unsigned i = 0; ok; i++, addr += c->guest->word) {
        if (!get_word(c, false, addr, &p) || i == MAX_ELEMENTS) {
            ok = textbuf_printf(b, "%s...", i ? ", " : "");
            break;
        }
        if (!p) {
            break;
        }
        ok = (!i || textbuf_printf(b, ", ")) &&
             put_string(b, c, false, p, SYSCALL_STRING_MAX);
    }
    return ok && textbuf_printf(b, "]");
}

/* An environment: its address and number of variables. */
static bool put_environment(struct textbuf *b, const struct syscall_call *c,
                            uint64_t addr)
{
    uint64_t p;
    unsigned n = 0;

    while (get_word(c, false, addr + (uint64_t)n * c->guest->word, &p) && p) {
        n++;
    }
    return syscall_put_address(b, c, addr) &&
           (!n || textbuf_printf(b, " /* %u var%s */", n, n == 1 ? "" : "s"));
}

/* [{iov_base="...", iov_len=5}]; of data read in, `limit' bytes in total. */
static bool put_iovec(struct textbuf *b, const struct syscall_call *c, bool write,
                      uint64_t addr, uint64_t n, uint64_t limit)
{
    unsigned w = c->guest->word;
    uint64_t base, len;
    bool ok;

    if (n && (!get_word(c, false, addr, &base))) {
        return syscall_put_address(b, c, addr);
    }
    ok = textbuf_printf(b, "[");
    for (uint64_t i = 0; ok && i < n; i++) {
        uint64_t at = addr + 2 * i * w, used;
        if (i == MAX_ELEMENTS || !get_word(c, false, at, &base) ||
            !get_word(c, false, at + w, &len)) {
            ok = textbuf_printf(b, "%s...", i ? ", " : "");
            break;
        }
        used = write && len > limit ? limit : len;
        limit -= write ? used : 0;
        ok = textbuf_printf(b, "%s{iov_base=", i ? ", " : "") &&
             syscall_put_buffer(b, c, write, base, used) &&
             textbuf_printf(b, ", iov_len=%" PRIu64 "}", len);
    }
    return ok && textbuf_printf(b, "]");
}

/* ------------------------------------------------------------- structures */

static bool put_times(struct textbuf *b, const struct syscall_call *c, bool write,
                      uint64_t addr, unsigned bytes, const char *fraction, unsigned n)
{
    uint8_t buf[4 * 16];
    bool ok;

    if (syscall_memory(c, write, addr, buf, 2 * n * bytes) < 2 * n * bytes) {
        return syscall_put_address(b, c, addr);
    }
    ok = n == 1 || textbuf_printf(b, "[");
    for (unsigned i = 0; ok && i < n; i++) {
        uint64_t rest = guest_load(c->guest, buf + (2 * i + 1) * bytes, bytes);
        ok = !i || textbuf_printf(b, ", ");
        if (ok && n > 1 && (rest & 0x3fffffff) == 0x3fffffff) {
            ok = textbuf_printf(b, "UTIME_NOW");
        } else if (ok && n > 1 && (rest & 0x3fffffff) == 0x3ffffffe) {
            ok = textbuf_printf(b, "UTIME_OMIT");
        } else if (ok) {
            ok = syscall_put_time(b, c, buf + 2 * i * bytes, bytes, fraction);
        }
    }
    return ok && (n == 1 || textbuf_printf(b, "]"));
}

/* Interval and value, each of two members of w bytes. */
static bool put_interval(struct textbuf *b, const struct syscall_call *c, bool write,
                         uint64_t addr, unsigned w, const char *fraction)
{
    uint8_t buf[32];

    if (syscall_memory(c, write, addr, buf, 4 * w) < 4 * w) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "{it_interval=") &&
           syscall_put_time(b, c, buf, w, fraction) && textbuf_printf(b, ", it_value=") &&
           syscall_put_time(b, c, buf + 2 * w, w, fraction) && textbuf_printf(b, "}");
}

/* [INT CHLD], or ~[...] for the others if most are set. */
static bool put_sigset_value(struct textbuf *b, const struct syscall_call *c,
                             const uint8_t *p)
{
    unsigned w = c->guest->word, count;
    uint64_t set = 0;
    const char *between = "";
    bool ok, invert;

    for (unsigned i = 0; i < 8 / w; i++) {
        set |= guest_load(c->guest, p + i * w, w) << (8 * w * i);
    }
    count = (unsigned)__builtin_popcountll(set);
    invert = count > 32;
    set = invert ? ~set : set;
    ok = textbuf_printf(b, invert ? "~[" : "[");
    for (unsigned sig = 1; ok && sig <= 64; sig++) {
        char buf[GUEST_SIGNAL_MAX];
        if (set >> (sig - 1) & 1) {
            const char *name = guest_signal_name(c->guest, sig, buf);
            ok = textbuf_printf(b, "%s%s", between,
                                !strncmp(name, "SIG", 3) ? name + 3 : name);
            between = " ";
        }
    }
    return ok && textbuf_printf(b, "]");
}

static bool put_sigset(struct textbuf *b, const struct syscall_call *c, bool write,
                       uint64_t addr)
{
    uint8_t buf[8];

    if (syscall_memory(c, write, addr, buf, 8) < 8) {
        return syscall_put_address(b, c, addr);
    }
    return put_sigset_value(b, c, buf);
}

/* Offsets of the members of rt_sigaction's struct sigaction. */
static bool put_sigaction(struct textbuf *b, const struct syscall_call *c, bool write,
                          uint64_t addr)
{
    const struct guest *g = c->guest;
    unsigned w = g->word, handler_off = 0, flags_off = w, flags_bytes = w, mask_off;
    uint8_t buf[32];
    uint64_t handler, flags;
    bool ok;

    switch (g->abi->e_machine) {
    case EM_RISCV:
    case EM_LOONGARCH:
    case EM_QDSP6:
    case EM_OPENRISC:
    case EM_PARISC:
    case EM_ALPHA:
        mask_off = 2 * w; /* no restorer before it */
        break;
    case EM_MIPS:
        handler_off = w;
        flags_off = 0;
        flags_bytes = 4;
        mask_off = 2 * w;
        break;
    default:
        mask_off = 3 * w;
        break;
    }
    if (syscall_memory(c, write, addr, buf, mask_off + 8) < mask_off + 8) {
        return syscall_put_address(b, c, addr);
    }
    handler = guest_load(g, buf + handler_off, w);
    ok = handler <= 1
             ? textbuf_printf(b, "{sa_handler=%s", handler ? "SIG_IGN" : "SIG_DFL")
             : textbuf_printf(b, "{sa_handler=0x%" PRIx64, handler);
    flags = guest_load(g, buf + flags_off, flags_bytes);
    ok = ok && textbuf_printf(b, ", sa_mask=") &&
         put_sigset_value(b, c, buf + mask_off) && textbuf_printf(b, ", sa_flags=") &&
         guest_put_sa_flags(b, g, flags);
    if (ok && mask_off == 3 * w && g->abi->numbers == GUEST_GENERIC &&
        flags & 0x4000000) {
        ok = textbuf_printf(b, ", sa_restorer=") &&
             syscall_put_address(b, c, guest_load(g, buf + 2 * w, w));
    }
    return ok && textbuf_printf(b, "}");
}

static bool put_sigstack(struct textbuf *b, const struct syscall_call *c, bool write,
                         uint64_t addr)
{
    const struct guest *g = c->guest;
    unsigned w = g->word;
    bool mips = g->abi->numbers == GUEST_MIPS; /* flags come last */
    uint8_t buf[24];

    if (syscall_memory(c, write, addr, buf, 3 * w) < 3 * w) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "{ss_sp=") &&
           syscall_put_address(b, c, guest_load(g, buf, w)) &&
           textbuf_printf(b, ", ss_flags=") &&
           syscall_put_flags(b, FLAG_SS, guest_load(g, buf + (mips ? 2 * w : w), 4)) &&
           textbuf_printf(b, ", ss_size=%" PRIu64 "}",
                          guest_load(g, buf + (mips ? w : 2 * w), w));
}

static bool put_limit(struct textbuf *b, uint64_t v, uint64_t infinity)
{
    return v == infinity || v == UINT64_MAX ? textbuf_printf(b, "RLIM_INFINITY")
                                            : textbuf_printf(b, "%" PRIu64, v);
}

static bool put_rlimit(struct textbuf *b, const struct syscall_call *c, bool write,
                       uint64_t addr, unsigned bytes)
{
    const struct guest *g = c->guest;
    bool half = g->abi->numbers == GUEST_MIPS || g->abi->numbers == GUEST_SPARC;
    uint64_t infinity = bytes == 8 ? UINT64_MAX : half ? INT32_MAX : UINT32_MAX;
    uint8_t buf[16];

    if (syscall_memory(c, write, addr, buf, 2 * bytes) < 2 * bytes) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "{rlim_cur=") &&
           put_limit(b, guest_load(g, buf, bytes), infinity) &&
           textbuf_printf(b, ", rlim_max=") &&
           put_limit(b, guest_load(g, buf + bytes, bytes), infinity) &&
           textbuf_printf(b, "}");
}

static const char *file_type(unsigned mode)
{
    static const char *const names[16] = {
        [1] = "S_IFIFO|", [2] = "S_IFCHR|",  [4] = "S_IFDIR|",   [6] = "S_IFBLK|",
        [8] = "S_IFREG|", [10] = "S_IFLNK|", [12] = "S_IFSOCK|",
    };
    const char *name = names[mode >> 12 & 15];

    return name ? name : "";
}

static bool put_stat_value(struct textbuf *b, const char *prefix, unsigned mode,
                           uint64_t size)
{
    return textbuf_printf(b, "{%s_mode=%s0%o, %s_size=%" PRIu64 ", ...}", prefix,
                          file_type(mode), mode & 07777, prefix, size);
}

/* The offset of the 64-bit st_rdev, or 0 if it is not known. */
static unsigned rdev_offset(const struct guest *g, bool is64)
{
    switch (g->abi->e_machine) {
    case EM_X86_64:
    case EM_S390:
    case EM_PPC64:
        return 40;
    case EM_AARCH64:
        return 32;
    case EM_RISCV:
        return g->word == 8 || is64 ? 32 : 0;
    case EM_386:
    case EM_ARM:
    case EM_PPC:
    case EM_SH:
    case EM_PARISC:
        return is64 ? 32 : 0;
    case EM_68K:
        return is64 ? 30 : 0;
    default:
        return 0;
    }
}

static bool put_device(struct textbuf *b, unsigned mode, uint64_t dev)
{
    return textbuf_printf(b, "{st_mode=%s0%o, st_rdev=makedev(0x%x, 0x%x), ...}",
                          file_type(mode), mode & 07777,
                          (unsigned)((dev >> 8 & 0xfff) | (dev >> 32 & 0xfffff000)),
                          (unsigned)((dev & 0xff) | (dev >> 12 & 0xffffff00)));
}

static bool put_stat(struct textbuf *b, const struct syscall_call *c, uint64_t addr,
                     bool is64)
{
    const struct guest_abi *a = c->guest->abi;
    struct guest_field mode = is64 && a->mode64.bytes ? a->mode64 : a->mode;
    struct guest_field size = is64 && a->mode64.bytes ? a->size64 : a->size;
    size_t need = (size_t)(mode.off > size.off ? mode.off : size.off) + 8;
    unsigned rdev = rdev_offset(c->guest, is64), bits;
    uint8_t buf[256];

    if (need < rdev + 8) {
        need = rdev + 8;
    }
    if (syscall_memory(c, true, addr, buf, need) < need) {
        return syscall_put_address(b, c, addr);
    }
    bits = (unsigned)guest_load(c->guest, buf + mode.off, mode.bytes);
    if (rdev && ((bits & 0170000) == 0020000 || (bits & 0170000) == 0060000)) {
        return put_device(b, bits, guest_load(c->guest, buf + rdev, 8));
    }
    return put_stat_value(b, "st", bits,
                          guest_load(c->guest, buf + size.off, size.bytes));
}

static bool put_statx(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    uint8_t buf[48];

    if (syscall_memory(c, true, addr, buf, sizeof(buf)) < sizeof(buf)) {
        return syscall_put_address(b, c, addr);
    }
    return put_stat_value(b, "stx", (unsigned)guest_load(c->guest, buf + 28, 2),
                          guest_load(c->guest, buf + 40, 8));
}

static bool put_sockaddr(struct textbuf *b, const struct syscall_call *c, bool write,
                         uint64_t addr, uint64_t len)
{
    uint8_t s[128];
    size_t got =
        syscall_memory(c, write, addr, s, len < sizeof(s) ? (size_t)len : sizeof(s));
    unsigned family;
    bool ok;

    if (got < 2) {
        return syscall_put_address(b, c, addr);
    }
    family = (unsigned)guest_load(c->guest, s, 2);
    ok = textbuf_printf(b, "{sa_family=") && syscall_put_flags(b, FLAG_FAMILY, family);
    if (ok && family == 1 && got > 2) {
        size_t n = s[2] ? strnlen((const char *)s + 2, got - 2) : got - 3;
        ok = textbuf_printf(b, s[2] ? ", sun_path=" : ", sun_path=@") &&
             syscall_put_quoted(b, s + (s[2] ? 2 : 3), n, false);
    } else if (ok && family == 2 && got >= 8) {
        ok =
            textbuf_printf(b, ", sin_port=htons(%u), sin_addr=inet_addr(\"%u.%u.%u.%u\")",
                           s[2] << 8 | s[3], s[4], s[5], s[6], s[7]);
    } else if (ok && family == 10 && got >= 24) {
        ok = textbuf_printf(b, ", sin6_port=htons(%u), sin6_addr=\"", s[2] << 8 | s[3]);
        for (unsigned i = 8; ok && i < 24; i += 2) {
            ok = textbuf_printf(b, "%s%x", i > 8 ? ":" : "", s[i] << 8 | s[i + 1]);
        }
        ok = ok && textbuf_printf(b, "\"");
    } else if (ok && got > 2) {
        ok = textbuf_printf(b, ", sa_data=") &&
             syscall_put_quoted(b, s + 2, got - 2, false);
    }
    return ok && textbuf_printf(b, "}");
}

static bool put_message(struct textbuf *b, const struct syscall_call *c, bool write,
                        uint64_t addr)
{
    unsigned w = c->guest->word;
    uint8_t buf[7 * 8];
    uint64_t v[6], limit = UINT64_MAX;

    if (syscall_memory(c, write, addr, buf, 6 * w) < 6 * w &&
        syscall_memory(c, false, addr, buf, 6 * w) < 6 * w) {
        return syscall_put_address(b, c, addr);
    }
    for (unsigned i = 0; i < 6; i++) {
        v[i] = guest_load(c->guest, buf + i * w, i == 1 ? 4 : w);
    }
    if (write) {
        limit = c->result > 0 ? (uint64_t)c->result : 0;
    }
    return textbuf_printf(b, "{msg_name=") && put_sockaddr(b, c, write, v[0], v[1]) &&
           textbuf_printf(b, ", msg_namelen=%u, msg_iov=", (unsigned)v[1]) &&
           put_iovec(b, c, write, v[2], v[3], limit) &&
           textbuf_printf(b, ", msg_iovlen=%" PRIu64 ", msg_control=", v[3]) &&
           syscall_put_control(b, c, write, v[4], v[5]) &&
           textbuf_printf(b, ", msg_controllen=%" PRIu64 "}", v[5]);
}

static bool put_wait_status(struct textbuf *b, const struct syscall_call *c,
                            uint64_t addr)
{
    uint8_t buf[4];
    char name[GUEST_SIGNAL_MAX];
    unsigned v, sig;

    if (syscall_memory(c, true, addr, buf, 4) < 4) {
        return syscall_put_address(b, c, addr);
    }
    v = (unsigned)guest_load(c->guest, buf, 4);
    sig = v & 0x7f;
    if (!sig) {
        return textbuf_printf(b, "[{WIFEXITED(s) && WEXITSTATUS(s) == %u}]",
                              v >> 8 & 0xff);
    }
    if (v == 0xffff) {
        return textbuf_printf(b, "[{WIFCONTINUED(s)}]");
    }
    if (sig == 0x7f) {
        return textbuf_printf(b, "[{WIFSTOPPED(s) && WSTOPSIG(s) == %s}]",
                              guest_signal_name(c->guest, v >> 8 & 0xff, name));
    }
    return textbuf_printf(b, "[{WIFSIGNALED(s) && WTERMSIG(s) == %s%s}]",
                          guest_signal_name(c->guest, sig, name),
                          v & 0x80 ? " && WCOREDUMP(s)" : "");
}

static bool put_utsname(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    static const char *const names[] = {"sysname", "nodename", "release", "version",
                                        "machine"};
    uint8_t buf[5 * 65];
    bool ok = true;

    if (syscall_memory(c, true, addr, buf, sizeof(buf)) < sizeof(buf)) {
        return syscall_put_address(b, c, addr);
    }
    for (unsigned i = 0; ok && i < 5; i++) {
        const char *s = (const char *)buf + i * 65;
        ok = textbuf_printf(b, "%s%s=", i ? ", " : "{", names[i]) &&
             syscall_put_quoted(b, (const uint8_t *)s, strnlen(s, 65), false);
    }
    return ok && textbuf_printf(b, "}");
}

static bool put_epoll_events(struct textbuf *b, const struct syscall_call *c, bool write,
                             uint64_t addr, uint64_t n)
{
    unsigned m = c->guest->abi->e_machine;
    bool packed = m == EM_X86_64 || m == EM_386 || m == EM_68K || m == EM_SH ||
                  m == EM_MICROBLAZE || m == EM_OPENRISC;
    unsigned size = packed ? EPOLL_PACKED : EPOLL_ALIGNED;
    bool ok = !write || textbuf_printf(b, "[");

    for (uint64_t i = 0; ok && i < n; i++) {
        uint8_t buf[EPOLL_ALIGNED];
        if (i == MAX_ELEMENTS ||
            syscall_memory(c, write, addr + i * size, buf, size) < size) {
            ok = i ? textbuf_printf(b, ", ...") : syscall_put_address(b, c, addr);
            break;
        }
        ok = textbuf_printf(b, "%s{events=", i ? ", " : "") &&
             syscall_put_flags(b, FLAG_EPOLL, guest_load(c->guest, buf, 4)) &&
             textbuf_printf(b, ", data=0x%" PRIx64 "}",
                            guest_load(c->guest, buf + size - 8, 8));
    }
    return ok && (!write || textbuf_printf(b, "]"));
}

static bool put_pollfds(struct textbuf *b, const struct syscall_call *c, uint64_t addr,
                        uint64_t n)
{
    bool returned = c->returned && c->result > 0;
    bool ok = true;

    for (uint64_t i = 0; ok && i < n; i++) {
        uint8_t buf[8], out[8];
        bool known = returned && syscall_memory(c, true, addr + 8 * i, out, 8) == 8;
        unsigned revents = known ? (unsigned)guest_load(c->guest, out + 6, 2) : 0;
        /* The system may have only read it. */
        if (i == MAX_ELEMENTS || (syscall_memory(c, false, addr + 8 * i, buf, 8) < 8 &&
                                  syscall_memory(c, true, addr + 8 * i, buf, 8) < 8)) {
            ok = i ? textbuf_printf(b, ", ...]") : syscall_put_address(b, c, addr);
            return ok;
        }
        ok = textbuf_printf(b, "%s{fd=%d, events=", i ? ", " : "[",
                            (int)guest_load(c->guest, buf, 4)) &&
             syscall_put_flags(b, FLAG_POLL, guest_load(c->guest, buf + 4, 2)) &&
             (!revents || (textbuf_printf(b, ", revents=") &&
                           syscall_put_flags(b, FLAG_POLL, revents))) &&
             textbuf_printf(b, "}");
    }
    return ok && textbuf_printf(b, n ? "]" : "[]");
}

/* -------------------------------------------------------------- arguments */

/* Memory that the call reads. */
static bool put_in(struct textbuf *b, const struct syscall_call *c, enum syscall_arg type,
                   uint64_t addr, uint64_t next)
{
    unsigned w = c->guest->word;

    switch (type) {
    case A_PATH:
        return put_string(b, c, false, addr, SYSCALL_STRING_MAX);
    case A_STRV:
        return put_strings(b, c, addr);
    case A_ENVV:
        return put_environment(b, c, addr);
    case A_BUF_IN:
        return syscall_put_buffer(b, c, false, addr, guest_word(c->guest, next));
    case A_IOV_IN:
        return put_iovec(b, c, false, addr, (uint32_t)next, UINT64_MAX);
    case A_TIMESPEC_IN:
        return put_times(b, c, false, addr, w, "tv_nsec", 1);
    case A_TIMESPEC64_IN:
        return put_times(b, c, false, addr, 8, "tv_nsec", 1);
    case A_TIMESPECS_IN:
        return put_times(b, c, false, addr, w, "tv_nsec", 2);
    case A_TIMESPECS64_IN:
        return put_times(b, c, false, addr, 8, "tv_nsec", 2);
    case A_TIMEVAL_IN:
        return put_times(b, c, false, addr, w, "tv_usec", 1);
    case A_ITIMERVAL_IN:
        return put_interval(b, c, false, addr, w, "tv_usec");
    case A_ITIMERSPEC_IN:
        return put_interval(b, c, false, addr, w, "tv_nsec");
    case A_ITIMERSPEC64_IN:
        return put_interval(b, c, false, addr, 8, "tv_nsec");
    case A_SOCKVALUE_IN:
        return syscall_put_sock_value(b, c, false, addr, (uint32_t)next);
    case A_SIGACTION_IN:
        return put_sigaction(b, c, false, addr);
    case A_SIGSET_IN:
        return put_sigset(b, c, false, addr);
    case A_SIGSTACK_IN:
        return put_sigstack(b, c, false, addr);
    case A_SOCKADDR_IN:
        return put_sockaddr(b, c, false, addr, (uint32_t)next);
    case A_RLIMIT_IN:
        return put_rlimit(b, c, false, addr, w);
    case A_RLIMIT64_IN:
        return put_rlimit(b, c, false, addr, 8);
    case A_EPOLL_IN:
        return put_epoll_events(b, c, false, addr, 1);
    case A_INT_IN:
        return syscall_put_ints(b, c, false, addr, 1);
    case A_MSG_IN:
        return put_message(b, c, false, addr);
    case A_POLL:
        return put_pollfds(b, c, addr, (uint32_t)next);
    default:
        return syscall_put_record(b, c, type, addr);
    }
}

/* Memory that a successful call wrote. */
static bool put_out(struct textbuf *b, const struct syscall_call *c,
                    enum syscall_arg type, uint64_t addr, uint64_t next)
{
    unsigned w = c->guest->word;
    uint64_t result = (uint64_t)c->result;
    uint8_t len[4];

    switch (type) {
    case A_BUF_OUT:
        return syscall_put_buffer(b, c, true, addr, result);
    case A_STR_OUT:
        return put_string(b, c, true, addr, SYSCALL_STRING_MAX);
    case A_IOV_OUT:
        return put_iovec(b, c, true, addr, (uint32_t)next, result);
    case A_TIMESPEC_OUT:
        return put_times(b, c, true, addr, w, "tv_nsec", 1);
    case A_TIMESPEC64_OUT:
        return put_times(b, c, true, addr, 8, "tv_nsec", 1);
    case A_TIMEVAL_OUT:
        return put_times(b, c, true, addr, w, "tv_usec", 1);
    case A_ITIMERVAL_OUT:
        return put_interval(b, c, true, addr, w, "tv_usec");
    case A_ITIMERSPEC_OUT:
        return put_interval(b, c, true, addr, w, "tv_nsec");
    case A_ITIMERSPEC64_OUT:
        return put_interval(b, c, true, addr, 8, "tv_nsec");
    case A_SOCKVALUE_OUT:
        if (syscall_memory(c, true, next, len, 4) < 4) {
            return syscall_put_address(b, c, addr);
        }
        return syscall_put_sock_value(b, c, true, addr, guest_load(c->guest, len, 4));
    case A_SIGACTION_OUT:
        return put_sigaction(b, c, true, addr);
    case A_SIGSET_OUT:
        return put_sigset(b, c, true, addr);
    case A_SIGSTACK_OUT:
        return put_sigstack(b, c, true, addr);
    case A_SOCKADDR_OUT:
        if (syscall_memory(c, true, next, len, 4) < 4) {
            return syscall_put_address(b, c, addr);
        }
        return put_sockaddr(b, c, true, addr, guest_load(c->guest, len, 4));
    case A_RLIMIT_OUT:
        return put_rlimit(b, c, true, addr, w);
    case A_RLIMIT64_OUT:
        return put_rlimit(b, c, true, addr, 8);
    case A_INT_OUT:
        return syscall_put_ints(b, c, true, addr, 1);
    case A_PAIR_OUT:
        return syscall_put_ints(b, c, true, addr, 2);
    case A_OFF64_OUT: {
        uint8_t off[8];
        if (syscall_memory(c, true, addr, off, 8) < 8) {
            return syscall_put_address(b, c, addr);
        }
        return textbuf_printf(b, "[%" PRId64 "]", (int64_t)guest_load(c->guest, off, 8));
    }
    case A_WSTATUS_OUT:
        return put_wait_status(b, c, addr);
    case A_STAT_OUT:
        return put_stat(b, c, addr, false);
    case A_STAT64_OUT:
        return put_stat(b, c, addr, true);
    case A_STATX_OUT:
        return put_statx(b, c, addr);
    case A_UTSNAME_OUT:
        return put_utsname(b, c, addr);
    case A_EPOLL_OUT:
        return put_epoll_events(b, c, true, addr, result);
    case A_MSG_OUT:
        return put_message(b, c, true, addr);
    default:
        return syscall_put_record(b, c, type, addr);
    }
}

bool syscall_put_memory(struct textbuf *b, const struct syscall_call *c,
                        enum syscall_arg type, uint64_t addr, uint64_t next)
{
    addr = guest_word(c->guest, addr);
    if (type < A_BUF_OUT || type == A_POLL) {
        return put_in(b, c, type, addr, next);
    }
    if (!c->returned || c->no_result || syscall_error(c)) {
        return syscall_put_address(b, c, addr);
    }
    return put_out(b, c, type, addr, next);
}
