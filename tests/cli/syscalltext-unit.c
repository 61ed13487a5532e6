/* SPDX-License-Identifier: MIT */
/*
 * The texts of system calls: structures as strace(1) shows them, and
 * random calls with random memory on all machines, which must give harmless text.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syscall/syscall_flags.h"
#include "syscall/syscall_text.h"

#include "check.h"

static void guest_of(struct guest *g, unsigned machine, const char *target, unsigned bits,
                     bool big_endian)
{
    struct ctr_info info = {.elf_machine = machine,
                            .addr_bits = (uint8_t)bits,
                            .big_endian = big_endian,
                            .target = target};

    guest_init(g, &info);
}

/* The whole text of a call: "name(a, b) = r" */
static void check_call(struct syscall_call *c, const char *name, const char *want)
{
    struct syscall_shown_arg arg[SYSCALL_MAX_ARGS];
    struct textbuf args = {0}, all = {0};
    bool ok = true;
    int n;

    c->name = name;
    c->name_len = strlen(name);
    c->desc = syscall_find(name, strlen(name));
    c->string_max = 32;
    n = syscall_put_args(&args, c, arg);
    textbuf_printf(&all, "%s(", name);
    for (int i = 0; i < n; i++) {
        size_t from = i ? arg[i - 1].end : 0;
        ok = ok && textbuf_printf(&all, "%s%.*s", i ? ", " : "", (int)(arg[i].end - from),
                                  args.data + from);
    }
    ok = ok && textbuf_printf(&all, ") = ") && syscall_put_result(&all, c);
    CHECK(ok && !strcmp(all.data, want), "got  %s\n\twant %s", all.data, want);
    textbuf_fini(&args);
    textbuf_fini(&all);
}

#define MEM(a, bytes, w)                                                                 \
    {.addr = (a),                                                                        \
     .size = sizeof(bytes) - 1,                                                          \
     .n = sizeof(bytes) - 1,                                                             \
     .data = (const uint8_t *)(bytes),                                                   \
     .write = (w)}

static void test_structures(void)
{
    struct guest x86, arm, mips;

    guest_of(&x86, EM_X86_64, "x86_64", 64, false);
    guest_of(&arm, EM_ARM, "arm", 32, false);
    guest_of(&mips, EM_MIPS, "mips", 32, true);

    struct syscall_mem connect[] = {
        MEM(0x1000, "\2\0\0\x50\x7f\0\0\1\0\0\0\0\0\0\0\0", false)};
    struct syscall_call c = {.guest = &x86,
                             .args = {3, 0x1000, 16},
                             .returned = true,
                             .result = -115,
                             .mem = connect,
                             .n_mem = 1};
    check_call(
        &c, "connect",
        "connect(3, {sa_family=AF_INET, sin_port=htons(80), "
        "sin_addr=inet_addr(\"127.0.0.1\")}, 16) = -1 EINPROGRESS (Operation now in "
        "progress)");

    struct syscall_mem un[] = {MEM(0x1000, "\1\0/run/x\0", false)};
    c = (struct syscall_call){
        .guest = &arm, .args = {3, 0x1000, 110}, .returned = true, .mem = un, .n_mem = 1};
    check_call(&c, "connect",
               "connect(3, {sa_family=AF_UNIX, sun_path=\"/run/x\"}, 110) = 0");

    /* The data that was read comes in two pieces, as in long recordings. */
    struct syscall_mem pieces[] = {MEM(0x1000, "abc", true),
                                   MEM(0x1003, "d\377\n\0001", true)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {3, 0x1000, 100},
                              .returned = true,
                              .result = 8,
                              .mem = pieces,
                              .n_mem = 2};
    check_call(&c, "read", "read(3, \"abcd\\377\\n\\0001\", 100) = 8");
    c.result = 90;
    check_call(&c, "read", "read(3, \"abcd\\377\\n\\0001\"..., 100) = 90");
    c.returned = false;
    check_call(&c, "read", "read(3, 0x1000, 100) = ?");

    /* Big-endian words, MIPS's order of members */
    struct syscall_mem act[] = {
        MEM(0x2000, "\0\0\0\10\0\x40\x10\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0", false)};
    c = (struct syscall_call){.guest = &mips,
                              .args = {10, 0x2000, 0, 16},
                              .returned = true,
                              .mem = act,
                              .n_mem = 1};
    check_call(&c, "rt_sigaction",
               "rt_sigaction(SIGBUS, {sa_handler=0x401000, sa_mask=[PIPE], "
               "sa_flags=SA_SIGINFO}, NULL, 16) = 0");
    act[0].data =
        (const uint8_t *)"\0\0\0\10\0\x40\x10\0\0\0\x90\0\0\0\0\1\0\0\0\0\0\0\0\0";
    check_call(&c, "rt_sigaction",
               "rt_sigaction(SIGBUS, {sa_handler=0x401000, sa_mask=[PIPE USR1 RT_1], "
               "sa_flags=SA_SIGINFO}, NULL, 16) = 0");

    struct syscall_mem select[] = {
        MEM(0x3000, "\1\0\0\0\0\0\0\0\x20\xa1\7\0\0\0\0\0", false)};
    c = (struct syscall_call){.guest = &x86,
                              .args = {0, 0, 0, 0, 0x3000},
                              .returned = true,
                              .mem = select,
                              .n_mem = 1};
    check_call(&c, "select",
               "select(0, NULL, NULL, NULL, {tv_sec=1, tv_usec=500000}) = 0");

    struct syscall_mem poll[] = {MEM(0x1000, "\5\0\0\0\1\0\0\0\6\0\0\0\5\0\0\0", false),
                                 MEM(0x1000, "\5\0\0\0\1\0\1\0\6\0\0\0\5\0\0\0", true)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {0x1000, 2, (uint64_t)-1},
                              .returned = true,
                              .result = 1,
                              .mem = poll,
                              .n_mem = 2};
    check_call(&c, "poll",
               "poll([{fd=5, events=POLLIN, revents=POLLIN}, {fd=6, "
               "events=POLLIN|POLLOUT}], 2, -1) = 1");

    struct syscall_mem epoll[] = {MEM(0x1000, "\1\0\0\0\7\0\0\0\0\0\0\0", true)};
    c = (struct syscall_call){.guest = &x86,
                              .args = {4, 0x1000, 8, 0},
                              .returned = true,
                              .result = 1,
                              .mem = epoll,
                              .n_mem = 1};
    check_call(&c, "epoll_wait", "epoll_wait(4, [{events=EPOLLIN, data=0x7}], 8, 0) = 1");

    struct syscall_mem argv[] = {
        MEM(0x100, "\0\2\0\0", false), MEM(0x104, "\4\2\0\0", false),
        MEM(0x108, "\0\0\0\0", false), MEM(0x200, "sh\0", false),
        MEM(0x204, "-c\0", false),     MEM(0x300, "/bin/sh\0", false)};
    c = (struct syscall_call){
        .guest = &arm, .args = {0x300, 0x100, 0}, .mem = argv, .n_mem = 6};
    check_call(&c, "execve", "execve(\"/bin/sh\", [\"sh\", \"-c\"], NULL) = ?");

    /* The old mmap of some machines, and arguments in pairs of registers */
    struct guest i386;
    guest_of(&i386, EM_386, "i386", 32, false);
    struct syscall_mem old[] = {MEM(
        0x400, "\0\0\0\0\0\x10\0\0\3\0\0\0\x22\0\0\0\377\377\377\377\0\0\0\0", false)};
    c = (struct syscall_call){.guest = &i386,
                              .args = {0x400},
                              .returned = true,
                              .result = (int32_t)0xf7700000,
                              .mem = old,
                              .n_mem = 1};
    check_call(&c, "mmap",
               "mmap({addr=NULL, length=4096, prot=PROT_READ|PROT_WRITE, "
               "flags=MAP_PRIVATE|MAP_ANONYMOUS, fd=-1, offset=0}) = 0xf7700000");
    c = (struct syscall_call){
        .guest = &i386, .args = {3, 0x1000, 5, 7, 1}, .returned = true, .result = -9};
    check_call(&c, "pread64",
               "pread64(3, 0x1000, 5, 4294967303) = -1 EBADF (Bad file descriptor)");
    c = (struct syscall_call){
        .guest = &mips, .args = {3, 0x1000, 5, 99, 1, 7}, .returned = true, .result = -9};
    check_call(&c, "pread64",
               "pread64(3, 0x1000, 5, 4294967303) = -1 EBADF (Bad file descriptor)");

    c = (struct syscall_call){
        .guest = &x86, .args = {3, 1030, 10}, .returned = true, .result = 10};
    check_call(&c, "fcntl", "fcntl(3, F_DUPFD_CLOEXEC, 10) = 10");
    c = (struct syscall_call){
        .guest = &x86, .args = {3, 1}, .returned = true, .result = 1};
    check_call(&c, "fcntl", "fcntl(3, F_GETFD) = 1 (flags FD_CLOEXEC)");
    c = (struct syscall_call){
        .guest = &x86, .args = {022}, .returned = true, .result = 2};
    check_call(&c, "umask", "umask(022) = 02");
    c = (struct syscall_call){
        .guest = &x86, .args = {0x1000, 129, 1}, .returned = true, .result = 1};
    check_call(&c, "futex", "futex(0x1000, FUTEX_WAKE_PRIVATE, 1) = 1");
}

static void test_files(void)
{
    struct guest x86, arm, mips;

    guest_of(&x86, EM_X86_64, "x86_64", 64, false);
    guest_of(&arm, EM_ARM, "arm", 32, false);
    guest_of(&mips, EM_MIPS, "mips", 32, true);

    struct syscall_call c = {
        .guest = &x86, .args = {2, 0x80801}, .returned = true, .result = 3};
    check_call(&c, "eventfd2", "eventfd2(2, EFD_SEMAPHORE|EFD_CLOEXEC|EFD_NONBLOCK) = 3");
    c = (struct syscall_call){
        .guest = &mips, .args = {0, 0x80080}, .returned = true, .result = 3};
    check_call(&c, "eventfd2", "eventfd2(0, EFD_CLOEXEC|EFD_NONBLOCK) = 3");
    c = (struct syscall_call){
        .guest = &x86, .args = {0x80000}, .returned = true, .result = 3};
    check_call(&c, "epoll_create1", "epoll_create1(EPOLL_CLOEXEC) = 3");

    struct syscall_mem event[] = {MEM(0x1000, "\5\0\0\xc0\7\0\0\0\0\0\0\0", false)};
    c = (struct syscall_call){.guest = &x86,
                              .args = {4, 1, 5, 0x1000},
                              .returned = true,
                              .mem = event,
                              .n_mem = 1};
    check_call(&c, "epoll_ctl",
               "epoll_ctl(4, EPOLL_CTL_ADD, 5, "
               "{events=EPOLLIN|EPOLLOUT|EPOLLONESHOT|EPOLLET, data=0x7}) = 0");

    struct syscall_mem one[] = {MEM(0x1000, "\0\0\0\1", false)};
    c = (struct syscall_call){.guest = &mips,
                              .args = {3, 0xffff, 4, 0x1000, 4},
                              .returned = true,
                              .mem = one,
                              .n_mem = 1};
    check_call(&c, "setsockopt", "setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0");
    c.args[1] = 6;
    c.args[2] = 1;
    check_call(&c, "setsockopt", "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0");
    c.args[1] = 1;
    check_call(&c, "setsockopt", "setsockopt(3, 1, 1, [1], 4) = 0");

    struct syscall_mem message[] = {
        MEM(0x1000, "\0\0\0\0\0\0\0\0\0\x20\0\0\1\0\0\0\0\x30\0\0\20\0\0\0\0\0\0\0",
            false),
        MEM(0x2000, "\0\x40\0\0\2\0\0\0", false), MEM(0x4000, "hi", false),
        MEM(0x3000, "\20\0\0\0\1\0\0\0\1\0\0\0\7\0\0\0", false)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {3, 0x1000, 0},
                              .returned = true,
                              .result = 2,
                              .mem = message,
                              .n_mem = 4};
    check_call(&c, "sendmsg",
               "sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hi\", "
               "iov_len=2}], msg_iovlen=1, msg_control=[{cmsg_len=16, "
               "cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[7]}], "
               "msg_controllen=16}, 0) = 2");

    struct syscall_mem linger[] = {MEM(0x1000, "\1\0\0\0\5\0\0\0", true),
                                   MEM(0x2000, "\10\0\0\0", true)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {3, 1, 13, 0x1000, 0x2000},
                              .returned = true,
                              .mem = linger,
                              .n_mem = 2};
    check_call(&c, "getsockopt",
               "getsockopt(3, SOL_SOCKET, SO_LINGER, {l_onoff=1, l_linger=5}, [8]) = 0");

    struct syscall_mem lock[] = {
        MEM(0x1000, "\1\0\0\0\0\0\0\0\12\0\0\0\0\0\0\0\24\0\0\0\0\0\0\0\0\0\0\0", false)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {3, 13, 0x1000},
                              .returned = true,
                              .mem = lock,
                              .n_mem = 1};
    check_call(&c, "fcntl64",
               "fcntl64(3, F_SETLK64, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=10, "
               "l_len=20}) = 0");

    struct syscall_mem sets[] = {MEM(0x1000, "\0\0\0\x21\0\0\0\2", false)};
    c = (struct syscall_call){.guest = &mips,
                              .args = {40, 0x1000, 0, 0, 0},
                              .returned = true,
                              .mem = sets,
                              .n_mem = 1};
    check_call(&c, "_newselect", "_newselect(40, [0 5 33], NULL, NULL, NULL) = 0");

    struct syscall_mem dents[] = {MEM(0x1000,
                                      "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\30\0\4.\0\0\0\0"
                                      "\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\30\0\4..\0\0\0",
                                      true)};
    c = (struct syscall_call){.guest = &x86,
                              .args = {3, 0x1000, 4096},
                              .returned = true,
                              .result = 48,
                              .mem = dents,
                              .n_mem = 1};
    check_call(&c, "getdents64", "getdents64(3, 0x1000 /* 2 entries */, 4096) = 48");
    c.result = 72; /* more than was recorded */
    check_call(&c, "getdents64", "getdents64(3, 0x1000, 4096) = 72");

    uint8_t device[144] = {[25] = 0x21, [24] = 0xb6, [40] = 3, [41] = 1};
    struct syscall_mem null[] = {
        {.addr = 0x1000, .size = 144, .n = 144, .data = device, .write = true}};
    c = (struct syscall_call){
        .guest = &x86, .args = {3, 0x1000}, .returned = true, .mem = null, .n_mem = 1};
    check_call(&c, "fstat",
               "fstat(3, {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0");

    struct syscall_mem ready[] = {MEM(0x1000, "\13\0\0\0", true)};
    c = (struct syscall_call){.guest = &x86,
                              .args = {3, 0x541b, 0x1000},
                              .returned = true,
                              .mem = ready,
                              .n_mem = 1};
    check_call(&c, "ioctl", "ioctl(3, FIONREAD, [11]) = 0");

    struct syscall_mem timer[] = {MEM(0x1000, "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", false)};
    c = (struct syscall_call){.guest = &arm,
                              .args = {3, 1, 0x1000, 0},
                              .returned = true,
                              .mem = timer,
                              .n_mem = 1};
    check_call(
        &c, "timerfd_settime",
        "timerfd_settime(3, TFD_TIMER_ABSTIME, {it_interval={tv_sec=1, tv_nsec=2}, "
        "it_value={tv_sec=3, tv_nsec=4}}, NULL) = 0");
}

/* Each name must be found, and no other. */
static void test_names(void)
{
    static const char *const names[] = {"_exit", "accept", "openat", "writev", "read"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct syscall_desc *d = syscall_find(names[i], strlen(names[i]));
        CHECK(d && !strcmp(d->name, names[i]), "%s", names[i]);
    }
    CHECK(!syscall_find("rea", 3), "rea");
    CHECK(!syscall_find("reads", 5), "reads");
    CHECK(!syscall_find("read\0x", 6), "read with a NUL");
    CHECK(!syscall_find("", 0), "empty");
}

/* Calls without a name in the trace */
/* The name of a call that was recorded without one, NULL if there is none. */
static const char *name_of(const struct guest *g, uint32_t nr)
{
    const struct ctr_syscall call = {.nr = nr};
    struct ctr_str name = syscall_name(g, &call);

    return name.n ? name.p : NULL;
}

static void test_numbers(void)
{
    static const struct {
        unsigned machine;
        const char *target;
        unsigned bits, clone3;
    } machines[] = {
        {EM_X86_64, "x86_64", 64, 435}, {EM_ARM, "arm", 32, 435},
        {EM_MIPS, "mips", 32, 4435},    {EM_MIPS, "mips64el", 64, 5435},
        {EM_MIPS, "mipsn32", 32, 6435}, {EM_ALPHA, "alpha", 64, 545},
    };

    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        struct guest g;
        const char *name, *last;
        guest_of(&g, machines[i].machine, machines[i].target, machines[i].bits, false);
        name = name_of(&g, machines[i].clone3);
        CHECK(name && !strcmp(name, "clone3"), "%s: %s", machines[i].target, name);
        last = name_of(&g, machines[i].clone3 + 27);
        CHECK(last && !strcmp(last, "mseal"), "%s: %s", machines[i].target, last);
        CHECK(!name_of(&g, machines[i].clone3 + 28), "%s", machines[i].target);
        CHECK(!name_of(&g, machines[i].clone3 - 12), "%s", machines[i].target);
        for (unsigned nr = 0; nr < 39; nr++) {
            name = name_of(&g, machines[i].clone3 - 11 + nr);
            CHECK(name && syscall_find(name, strlen(name)), "call %u: %s", nr, name);
        }
    }
}

/* Arbitrary bytes as memory, arbitrary numbers as arguments: gives printable ASCII. */
static void test_random(void)
{
    static const struct {
        unsigned machine;
        const char *target;
        unsigned bits;
        bool be;
    } machines[] = {
        {EM_X86_64, "x86_64", 64, false},  {EM_386, "i386", 32, false},
        {EM_ARM, "arm", 32, false},        {EM_MIPS, "mips", 32, true},
        {EM_MIPS, "mips64", 64, true},     {EM_MIPS, "mipsn32el", 32, false},
        {EM_SPARCV9, "sparc64", 64, true}, {EM_ALPHA, "alpha", 64, false},
        {EM_PARISC, "hppa", 64, true},     {EM_S390, "s390x", 64, true},
        {EM_SH, "sh4", 32, false},         {EM_MICROBLAZE, "microblaze", 32, true},
        {0, "unknown", 64, false},
    };
    static uint8_t bytes[600];
    struct textbuf b = {0};

    for (unsigned round = 0; round < 200000; round++) {
        struct syscall_shown_arg arg[SYSCALL_MAX_ARGS];
        struct syscall_mem mem[4];
        struct guest g;
        size_t m = rng() % (sizeof(machines) / sizeof(*machines));
        struct syscall_call c = {.guest = &g,
                                 .mem = mem,
                                 .n_mem = rng() % 5,
                                 .string_max = (unsigned)(rng() % 100)};
        size_t last = 0;
        int n;

        guest_of(&g, machines[m].machine, machines[m].target, machines[m].bits,
                 machines[m].be);
        c.desc = syscall_nth((unsigned)rng() % 500);
        c.name = c.desc ? c.desc->name : "none";
        c.name_len = strlen(c.name);
        for (unsigned i = 0; i < 8; i++) {
            uint64_t r = rng();
            c.args[i] = r & 3 ? 0x1000 + (r >> 8) % 64 * 8 : r & 4 ? (r >> 8) % 100 : r;
        }
        for (unsigned i = 0; i < sizeof(bytes) && round % 8 == 0; i++) {
            uint64_t r = rng();
            bytes[i] = r & 1 ? 0 : (uint8_t)(r >> 8);
        }
        for (unsigned i = 0; i < c.n_mem; i++) {
            uint32_t size = (uint32_t)(rng() % 300);
            mem[i] = (struct syscall_mem){.addr = 0x1000 + rng() % 64 * 8,
                                          .size = size,
                                          .n = size,
                                          .data = bytes + rng() % 300,
                                          .write = rng() & 1};
        }
        c.returned = rng() % 8;
        c.result = rng() & 1 ? (int64_t)(rng() % 300) - 100 : (int64_t)rng();
        b.len = 0;
        n = syscall_put_args(&b, &c, arg);
        CHECK(n >= 0 && n <= (int)SYSCALL_MAX_ARGS, "%s: %d arguments", c.name, n);
        for (int i = 0; i < n; i++) {
            CHECK(arg[i].end > last, "%s: argument %d is empty", c.name, i);
            last = arg[i].end;
        }
        CHECK(syscall_put_result(&b, &c), "%s: result", c.name);
        for (size_t i = 0; i < b.len; i++) {
            CHECK(b.data[i] >= 0x20 && b.data[i] < 0x7f, "%s: byte %02x", c.name,
                  (unsigned)(uint8_t)b.data[i]);
        }
    }
    textbuf_fini(&b);
}

/* Programs whose longs are narrower than the processor's addresses. */
static void test_words(void)
{
    static const struct {
        unsigned machine;
        const char *target;
        unsigned bits, word;
    } t[] = {
        {EM_PARISC, "hppa", 64, 4},     {EM_SPARC32PLUS, "sparc32plus", 64, 4},
        {EM_MIPS, "mipsn32el", 64, 4},  {EM_MIPS, "mips64el", 64, 8},
        {EM_SPARCV9, "sparc64", 64, 8}, {EM_386, "i386", 32, 4},
    };
    struct guest g;

    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        guest_of(&g, t[i].machine, t[i].target, t[i].bits, true);
        CHECK(g.word == t[i].word, "%s: a word of %u bytes", t[i].target, g.word);
        CHECK(g.wide_pairs == (t[i].word == 8 || i == 2), "%s: pairs", t[i].target);
    }
}

int main(void)
{
    test_words();
    test_structures();
    test_files();
    test_names();
    test_numbers();
    test_random();
    if (failures) {
        fprintf(stderr, "%d checks failed\n", failures);
        return 1;
    }
    puts("ok");
    return 0;
}
