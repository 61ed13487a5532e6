/* SPDX-License-Identifier: MIT */
/*
 * Structures of fixed layout that system calls read or write: file locks, sets of
 * descriptors and processors, statistics of file systems, of the machine and of a process.
 */
#include "syscall/syscall_priv.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "syscall/syscall_flags.h"

/* Bytes of a set of descriptors or processors that are shown. */
#define MAX_SET 128u

/* -------------------------------------------------------------- file locks */

static const char *lock_type(const struct guest *g, unsigned type)
{
    static const struct guest_flag generic[] = {
        {0, "F_RDLCK"}, {1, "F_WRLCK"}, {2, "F_UNLCK"}, {0, NULL}};
    static const struct guest_flag alpha[] = {
        {1, "F_RDLCK"}, {2, "F_WRLCK"}, {8, "F_UNLCK"}, {0, NULL}};
    static const struct guest_flag bsd[] = {
        {1, "F_RDLCK"}, {2, "F_WRLCK"}, {3, "F_UNLCK"}, {0, NULL}};

    switch (g->abi->numbers) {
    case GUEST_ALPHA:
        return syscall_value_name(alpha, type);
    case GUEST_SPARC:
    case GUEST_HPPA:
        return syscall_value_name(bsd, type);
    default:
        return syscall_value_name(generic, type);
    }
}

/* 64-bit members of these machines have the alignment of 32-bit ones. */
static bool packs_wide(const struct guest *g)
{
    unsigned m = g->abi->e_machine;

    return m == EM_386 || m == EM_68K || m == EM_SH || m == EM_MICROBLAZE ||
           m == EM_OPENRISC;
}

static bool put_flock(struct textbuf *b, const struct syscall_call *c, uint64_t addr,
                      bool write, bool wide)
{
    const struct guest *g = c->guest;
    unsigned bytes = wide ? 8 : g->word;
    unsigned start = bytes == 4 || packs_wide(g) ? 4 : 8, pid = start + 2 * bytes;
    uint8_t buf[32];
    unsigned type;
    const char *name, *whence;
    int64_t off, len;
    bool ok;

    if (!wide && bytes == 4 && g->abi->numbers == GUEST_MIPS) {
        pid += 4; /* l_sysid */
    }
    if (syscall_memory(c, write, addr, buf, pid + 4) < pid + 4) {
        return syscall_put_address(b, c, addr);
    }
    type = (unsigned)guest_load(g, buf, 2);
    name = lock_type(g, type);
    whence = syscall_flag_name(FLAG_WHENCE, guest_load(g, buf + 2, 2));
    off = (int64_t)guest_load(g, buf + start, bytes);
    len = (int64_t)guest_load(g, buf + start + bytes, bytes);
    ok = name ? textbuf_printf(b, "{l_type=%s", name)
              : textbuf_printf(b, "{l_type=%u", type);
    ok = ok && (whence ? textbuf_printf(b, ", l_whence=%s", whence)
                       : textbuf_printf(b, ", l_whence=%u",
                                        (unsigned)guest_load(g, buf + 2, 2)));
    ok = ok &&
         textbuf_printf(b, ", l_start=%" PRId64 ", l_len=%" PRId64,
                        bytes == 4 ? (int32_t)off : off, bytes == 4 ? (int32_t)len : len);
    ok = ok &&
         (!write || textbuf_printf(b, ", l_pid=%d", (int)guest_load(g, buf + pid, 4)));
    return ok && textbuf_printf(b, "}");
}

/* -------------------------------------------------------------------- sets */

/* [0 4 7]: the numbers of the set bits of an array of words */
static bool put_set(struct textbuf *b, const struct syscall_call *c, bool write,
                    uint64_t addr, uint64_t bits)
{
    unsigned w = c->guest->word;
    uint8_t buf[MAX_SET];
    uint64_t words = bits / (8 * w) + (bits % (8 * w) != 0);
    const char *between = "";
    bool ok;

    if (!words || words > MAX_SET / w ||
        syscall_memory(c, write, addr, buf, words * w) < words * w) {
        return syscall_put_address(b, c, addr);
    }
    ok = textbuf_printf(b, "[");
    for (unsigned i = 0; ok && i < bits; i++) {
        uint64_t word = guest_load(c->guest, buf + i / (8 * w) * w, w);
        if (word >> i % (8 * w) & 1) {
            ok = textbuf_printf(b, "%s%u", between, i);
            between = " ";
        }
    }
    return ok && textbuf_printf(b, "]");
}

/* -------------------------------------------------------------- statistics */

static bool put_statfs(struct textbuf *b, const struct syscall_call *c, uint64_t addr,
                       bool is64)
{
    static const struct guest_flag types[] = {{0xef53, "EXT2_SUPER_MAGIC"},
                                              {0x9fa0, "PROC_SUPER_MAGIC"},
                                              {0x01021994, "TMPFS_MAGIC"},
                                              {0x62656572, "SYSFS_MAGIC"},
                                              {0x1cd1, "DEVPTS_SUPER_MAGIC"},
                                              {0x6969, "NFS_SUPER_MAGIC"},
                                              {0x58465342, "XFS_SUPER_MAGIC"},
                                              {0x9123683e, "BTRFS_SUPER_MAGIC"},
                                              {0x794c7630, "OVERLAYFS_SUPER_MAGIC"},
                                              {0x858458f6, "RAMFS_MAGIC"},
                                              {0x65735546, "FUSE_SUPER_MAGIC"},
                                              {0x63677270, "CGROUP2_SUPER_MAGIC"},
                                              {0x27e0eb, "CGROUP_SUPER_MAGIC"},
                                              {0x4d44, "MSDOS_SUPER_MAGIC"},
                                              {0x9660, "ISOFS_SUPER_MAGIC"},
                                              {0x73717368, "SQUASHFS_MAGIC"},
                                              {0x50495045, "PIPEFS_MAGIC"},
                                              {0x534f434b, "SOCKFS_MAGIC"},
                                              {0x64626720, "DEBUGFS_MAGIC"},
                                              {0xf2f52010, "F2FS_SUPER_MAGIC"},
                                              {0x6e736673, "NSFS_MAGIC"},
                                              {0, NULL}};
    static const char *const names[] = {"blocks", "bfree", "bavail", "files", "ffree"};
    const struct guest *g = c->guest;
    bool narrow = g->abi->e_machine == EM_S390 || g->abi->e_machine == EM_ALPHA;
    unsigned small = is64 || narrow ? 4 : g->word;
    unsigned big = is64 || g->abi->e_machine == EM_S390 ? 8 : small;
    unsigned fsid = 2 * small + 5 * big, size = fsid + 8 + 2 * small;
    uint8_t buf[88];
    uint64_t type;
    const char *name;
    bool ok;

    /* MIPS has an order of its own. */
    if (g->abi->numbers == GUEST_MIPS || (is64 && g->word == 8) ||
        syscall_memory(c, true, addr, buf, size) < size) {
        return syscall_put_address(b, c, addr);
    }
    type = guest_load(g, buf, small);
    name = syscall_value_name(types, (uint32_t)type);
    ok = (name ? textbuf_printf(b, "{f_type=%s", name)
               : textbuf_printf(b, "{f_type=0x%" PRIx64, type)) &&
         textbuf_printf(b, ", f_bsize=%" PRIu64, guest_load(g, buf + small, small));
    for (unsigned i = 0; ok && i < 5; i++) {
        ok = textbuf_printf(b, ", f_%s=%" PRIu64, names[i],
                            guest_load(g, buf + 2 * small + i * big, big));
    }
    return ok &&
           textbuf_printf(b, ", f_fsid={val=[0x%x, 0x%x]}",
                          (unsigned)guest_load(g, buf + fsid, 4),
                          (unsigned)guest_load(g, buf + fsid + 4, 4)) &&
           textbuf_printf(b, ", f_namelen=%" PRIu64 ", f_frsize=%" PRIu64 ", ...}",
                          guest_load(g, buf + fsid + 8, small),
                          guest_load(g, buf + fsid + 8 + small, small));
}

static bool put_sysinfo(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    static const char *const names[] = {"totalram",  "freeram",   "sharedram",
                                        "bufferram", "totalswap", "freeswap"};
    const struct guest *g = c->guest;
    unsigned w = g->word, procs = 10 * w, high = procs + (w == 8 ? 8 : 4);
    uint8_t buf[112];
    unsigned size = high + 2 * w + 4;
    bool ok;

    if (syscall_memory(c, true, addr, buf, size) < size) {
        return syscall_put_address(b, c, addr);
    }
    ok = textbuf_printf(
        b, "{uptime=%" PRIu64 ", loads=[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
        guest_load(g, buf, w), guest_load(g, buf + w, w), guest_load(g, buf + 2 * w, w),
        guest_load(g, buf + 3 * w, w));
    for (unsigned i = 0; ok && i < 6; i++) {
        ok = textbuf_printf(b, ", %s=%" PRIu64, names[i],
                            guest_load(g, buf + (4 + i) * w, w));
    }
    return ok &&
           textbuf_printf(
               b, ", procs=%u, totalhigh=%" PRIu64 ", freehigh=%" PRIu64 ", mem_unit=%u}",
               (unsigned)guest_load(g, buf + procs, 2), guest_load(g, buf + high, w),
               guest_load(g, buf + high + w, w),
               (unsigned)guest_load(g, buf + high + 2 * w, 4));
}

static bool put_rusage(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    unsigned w = c->guest->word;
    uint8_t buf[32];

    if (syscall_memory(c, true, addr, buf, 4 * w) < 4 * w) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "{ru_utime=") && syscall_put_time(b, c, buf, w, "tv_usec") &&
           textbuf_printf(b, ", ru_stime=") &&
           syscall_put_time(b, c, buf + 2 * w, w, "tv_usec") &&
           textbuf_printf(b, ", ...}");
}

/* ------------------------------------------------------------------ others */

/* Whether a signal that is not the kernel's has a sender. */
static bool is_sent(const char *code_name)
{
    return code_name && strcmp(code_name, "SI_TIMER") && strcmp(code_name, "SI_SIGIO") &&
           strcmp(code_name, "SI_ASYNCIO");
}

static bool put_siginfo(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    const struct guest *g = c->guest;
    unsigned code_off = g->abi->numbers == GUEST_MIPS ? 4 : 8,
             at = g->word == 8 ? 16 : 12;
    char buf[GUEST_SIGNAL_MAX], text[GUEST_SIGNAL_MAX];
    uint8_t s[28];
    const char *name, *code_name;
    unsigned sig, status;
    int code;
    bool ok;

    if (syscall_memory(c, true, addr, s, at + 12) < at + 12) {
        return syscall_put_address(b, c, addr);
    }
    sig = (unsigned)guest_load(g, s, 4);
    code = (int)guest_load(g, s + code_off, 4);
    if (!sig) {
        return textbuf_printf(b, "{}");
    }
    name = guest_signal_name(g, sig, buf);
    code_name = guest_signal_code(g, sig, code);
    ok = textbuf_printf(b, "{si_signo=%s, si_code=", name) &&
         (code_name ? textbuf_printf(b, "%s", code_name) : textbuf_printf(b, "%d", code));
    if (ok && (code > 0 ? !strcmp(name, "SIGCHLD") : is_sent(code_name))) {
        ok = textbuf_printf(b, ", si_pid=%d, si_uid=%u", (int)guest_load(g, s + at, 4),
                            (unsigned)guest_load(g, s + at + 4, 4));
    }
    if (ok && code > 0 && !strcmp(name, "SIGCHLD")) {
        status = (unsigned)guest_load(g, s + at + 8, 4);
        ok = code == 1 ? textbuf_printf(b, ", si_status=%d", (int)status)
                       : textbuf_printf(b, ", si_status=%s",
                                        guest_signal_name(g, status, text));
    }
    return ok && textbuf_printf(b, ", ...}");
}

/* The number of whole entries, if all of them are in the trace. */
static bool put_dents64(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    uint64_t at = 0, size = (uint64_t)c->result;
    unsigned n = 0;

    if (size > INT32_MAX) { /* the result of this call is an int */
        return syscall_put_address(b, c, addr);
    }
    for (; at < size; n++) {
        uint8_t len[2];
        uint64_t bytes;
        if (syscall_memory(c, true, addr + at + 16, len, 2) < 2 ||
            (bytes = guest_load(c->guest, len, 2)) < 19 || bytes > size - at) {
            return syscall_put_address(b, c, addr);
        }
        at += bytes;
    }
    return syscall_put_address(b, c, addr) && textbuf_printf(b, " /* %u entries */", n);
}

static bool put_open_how(struct textbuf *b, const struct syscall_call *c, uint64_t addr)
{
    const struct guest *g = c->guest;
    uint8_t buf[24];
    uint64_t mode;

    if (syscall_memory(c, false, addr, buf, 24) < 24) {
        return syscall_put_address(b, c, addr);
    }
    mode = guest_load(g, buf + 8, 8);
    return textbuf_printf(b, "{flags=") &&
           guest_put_open_flags(b, g, guest_load(g, buf, 8)) &&
           (!mode || textbuf_printf(b, ", mode=0%" PRIo64, mode)) &&
           textbuf_printf(b, ", resolve=") &&
           syscall_put_flags(b, FLAG_RESOLVE, guest_load(g, buf + 16, 8)) &&
           textbuf_printf(b, "}");
}

static bool put_winsize(struct textbuf *b, const struct syscall_call *c, bool write,
                        uint64_t addr)
{
    uint8_t s[8];

    if (syscall_memory(c, write, addr, s, 8) < 8) {
        return syscall_put_address(b, c, addr);
    }
    return textbuf_printf(b, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}",
                          (unsigned)guest_load(c->guest, s, 2),
                          (unsigned)guest_load(c->guest, s + 2, 2),
                          (unsigned)guest_load(c->guest, s + 4, 2),
                          (unsigned)guest_load(c->guest, s + 6, 2));
}

bool syscall_put_record(struct textbuf *b, const struct syscall_call *c,
                        enum syscall_arg type, uint64_t addr)
{
    uint64_t size = guest_word(c->guest, c->args[1]);

    switch (type) {
    case A_FLOCK_IN:
    case A_FLOCK64_IN:
        return put_flock(b, c, addr, false, type == A_FLOCK64_IN);
    case A_FLOCK_OUT:
    case A_FLOCK64_OUT:
        return put_flock(b, c, addr, true, type == A_FLOCK64_OUT);
    case A_FDSET:
        return put_set(b, c, false, addr, (uint32_t)c->args[0]);
    case A_CPUS_IN:
        return put_set(b, c, false, addr, size > MAX_SET ? 0 : 8 * size);
    case A_CPUS_OUT:
        size = (uint64_t)c->result;
        return put_set(b, c, true, addr, size > MAX_SET ? 0 : 8 * size);
    case A_STATFS_OUT:
        return put_statfs(b, c, addr, false);
    case A_STATFS64_OUT:
        return put_statfs(b, c, addr, true);
    case A_SYSINFO_OUT:
        return put_sysinfo(b, c, addr);
    case A_RUSAGE_OUT:
        return put_rusage(b, c, addr);
    case A_SIGINFO_OUT:
        return put_siginfo(b, c, addr);
    case A_DENTS64_OUT:
        return put_dents64(b, c, addr);
    case A_OPEN_HOW_IN:
        return put_open_how(b, c, addr);
    case A_WINSIZE_IN:
    case A_WINSIZE_OUT:
        return put_winsize(b, c, type == A_WINSIZE_OUT, addr);
    default:
        return syscall_put_address(b, c, addr);
    }
}
