/* SPDX-License-Identifier: MIT */
/*
 * The built-in filters, loaded by a host of this test: what they answer for which
 * arguments.  Functions are those of this very program, found in its file.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cannoli/events.h"
#include "cannoli/jitter.h"
#include "cannoli/names.h"

#define NEVER CANNOLI_NEVER
#define ALWAYS CANNOLI_ALWAYS

/* ---- functions for the filter to find: code that is never executed ---- */

__asm__(".pushsection .text\n"
        ".globl filter_sized\n.type filter_sized, %function\n"
        "filter_sized: .skip 32, 0x90\n.size filter_sized, 32\n"
        ".globl filter_unsized\n.type filter_unsized, %function\n"
        "filter_unsized: .skip 16, 0x90\n"
        ".globl filter_after\n.type filter_after, %function\n"
        "filter_after: .skip 16, 0x90\n.size filter_after, 16\n"
        ".type filter_sized.cold, %function\n"
        "filter_sized.cold: .skip 8, 0x90\n.size filter_sized.cold, 8\n"
        ".globl filter_bare\n"
        "filter_bare: .skip 8, 0x90\n.size filter_bare, 8\n"
        ".popsection\n"
        ".pushsection .data\n"
        ".globl filter_datum\n.type filter_datum, %object\n"
        "filter_datum: .skip 8\n.size filter_datum, 8\n"
        ".popsection\n");
extern const char filter_sized[], filter_unsized[], filter_after[], filter_bare[];
extern char filter_datum[];

/* ---- the host ---- */

static struct cannoli_module maps[8];
static unsigned nr_maps;
static uint64_t generation;
static const char *text; /* of the instruction, NULL: no disassembler */
static char message[512];
static int closed;

static int host_module(void *context, uint64_t addr, struct cannoli_module *m)
{
    (void)context;
    for (unsigned i = 0; i < nr_maps; i++) {
        if (addr >= maps[i].start && addr < maps[i].end) {
            *m = maps[i];
            m->offset += addr - m->start;
            m->generation = generation;
            return 1;
        }
    }
    return 0;
}

static size_t host_disas(void *context, char *to, size_t size)
{
    (void)context;
    return text ? (size_t)snprintf(to, size, "%s", text) : 0;
}

static void host_starts_closed(void)
{
    closed++;
}

static void host_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
}

static const struct cannoli_host host = {
    .version = CANNOLI_JITTER_VERSION,
    .bytes = sizeof(host),
    .target = "x86_64",
    .program = "/bin/program",
    .elf_machine = 62,
    .addr_bytes = 8,
    .module = host_module,
    .disas = host_disas,
    .starts_closed = host_starts_closed,
    .error = host_error,
};

static void *filter(const char *args)
{
    void *state = NULL;

    closed = 0;
    message[0] = '\0';
    if (cannoli_jitter.load(&host, args, &state)) {
        fail_msg("'%s' is refused: %s", args, message);
    }
    return state;
}

/* hook_range's answer for pc; *r is where that answer holds. */
static int query_range(void *state, uint64_t pc, struct cannoli_range *r)
{
    int answer;

    *r = (struct cannoli_range){0, UINT64_MAX};
    answer = cannoli_jitter.hook_range(state, NULL, pc, r);
    assert_true(answer == CANNOLI_ANYTHING || (pc >= r->start && pc < r->end));
    return answer;
}

/* May hook_inst give this answer where hook_range gives that one? */
static bool is_within(int answer, int range_answer)
{
    return (!(answer & CANNOLI_HOOK_MASK) || (range_answer & CANNOLI_HOOK_MASK)) &&
           !(answer & ~CANNOLI_HOOK_MASK & ~range_answer);
}

/* Queries as QEMU does: the address first. */
static int query_flags(void *state, uint64_t pc, uint32_t flags)
{
    struct cannoli_insn insn = {.pc = pc, .len = 4, .flags = flags, .block_pc = pc};
    struct cannoli_range r;
    int around = query_range(state, pc, &r);
    int answer = cannoli_jitter.hook_inst(state, &insn);

    if (!is_within(answer, around)) {
        fail_msg("%#x: %#x for an instruction, but %#x for its address", (unsigned)pc,
                 (unsigned)answer, (unsigned)around);
    }
    return answer;
}

static int query(void *state, uint64_t pc)
{
    return query_flags(state, pc, 0);
}

/* A filter's answer for one instruction, with these arguments. */
static int query_once(const char *args, uint64_t pc, uint32_t flags)
{
    void *state = filter(args);
    int answer = query_flags(state, pc, flags);

    cannoli_jitter.unload(state);
    return answer;
}

static int query_privilege(const char *args, uint32_t privilege)
{
    struct cannoli_insn insn = {.pc = 8, .len = 4, .block_pc = 8, .privilege = privilege};
    void *state = filter(args);
    struct cannoli_range r;
    int around = query_range(state, insn.pc, &r);
    int answer = cannoli_jitter.hook_inst(state, &insn);

    assert_true(is_within(answer, around));
    cannoli_jitter.unload(state);
    return answer;
}

static void map(uint64_t start, uint64_t size, uint64_t offset, uint64_t base,
                const char *path)
{
    maps[nr_maps++] = (struct cannoli_module){.path = path,
                                              .start = start,
                                              .end = start + size,
                                              .offset = offset,
                                              .base = base};
    generation++;
}

/* ---- this program's own code, as it is mapped ---- */

static char self[4096];
static uint64_t base;

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            uint64_t lead = p->p_vaddr & 4095;

            map(info->dlpi_addr + p->p_vaddr - lead, p->p_filesz + lead,
                p->p_offset - lead, info->dlpi_addr, self);
        }
    }
    base = info->dlpi_addr;
    return 1; /* the first one is the program */
}

static int setup(void **state)
{
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    (void)state;
    assert_true(n > 0);
    self[n] = '\0';
    nr_maps = 0;
    text = NULL;
    dl_iterate_phdr(find_self, NULL);
    return 0;
}

#define AT(symbol) ((uint64_t)(uintptr_t)(symbol))
#define NO_RANGE " and no range, as in 0x1000-0x2000"

/* ---- tests ---- */

static void test_refused(void **unused)
{
    static const struct {
        const char *args, *why;
    } v[] = {
        {"colour=red", "there is no filter 'colour'"},
        {"module", "module needs a value"},
        {"module=", "module needs a value"},
        {"function=", "function needs a value"},
        {"stores=off", "stores takes no value but on, not 'off'"},
        {"not-once=on", "there is no filter 'not-once'"},
        {"not-callees=on", "there is no filter 'not-callees'"},
        {"not-start-at=main", "there is no filter 'not-start-at'"},
        {"callees=on", "callees needs a function"},
        {"callees=on,not-function=f", "callees needs a function"},
        {"not-report=x", "there is no filter 'not-report'"},
        {"report=", "report needs a value"},
        {"range=0x20-0x10", "range: '0x20-0x10' is no address" NO_RANGE},
        {"range=-1-5", "range: '-1-5' is no address" NO_RANGE},
        {"not-range=0x10+0", "not-range: '0x10+0' is no address" NO_RANGE},
        {"start-at=12x", "start-at: '12x' is no address" NO_RANGE},
        {"range=0x0-0x1ffffffffffffffff",
         "range: '0x0-0x1ffffffffffffffff' is no address" NO_RANGE},
        {"module=a,,,stores=on,,x", "stores takes no value but on, not 'on,x'"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        void *state = NULL;

        message[0] = '\0';
        assert_int_not_equal(cannoli_jitter.load(&host, v[i].args, &state), 0);
        assert_string_equal(message, v[i].why);
    }
}

static void test_ranges(void **unused)
{
    void *f = filter("range=0x1000-0x1010,range=0x100c-0x1020,range=0x3000-0x3004,"
                     "not-range=0x1008-0x100a");

    (void)unused;
    assert_int_equal(closed, 0);
    assert_int_equal(query(f, 0xfff), NEVER);
    assert_int_equal(query(f, 0x1000), ALWAYS);
    assert_int_equal(query(f, 0x1007), ALWAYS);
    assert_int_equal(query(f, 0x1008), NEVER);
    assert_int_equal(query(f, 0x1009), NEVER);
    assert_int_equal(query(f, 0x100a), ALWAYS);
    assert_int_equal(query(f, 0x101f), ALWAYS);
    assert_int_equal(query(f, 0x1020), NEVER);
    assert_int_equal(query(f, 0x3003), ALWAYS);
    assert_int_equal(query(f, 0x3004), NEVER);
    cannoli_jitter.unload(f);
    assert_int_equal(query_once("range=0x10", 0x10, 0), ALWAYS);
    assert_int_equal(query_once("range=16", 0x11, 0), NEVER);
    assert_int_equal(query_once("range=0x10+4", 0x13, 0), ALWAYS);
    assert_int_equal(query_once("range=0x10+4", 0x14, 0), NEVER);
    assert_int_equal(query_once("not-range=0x10-0x20", 0x10, 0), NEVER);
    assert_int_equal(query_once("not-range=0x10-0x20", 0x20, 0), ALWAYS);
    assert_int_equal(query_once("", 0x20, 0), ALWAYS);
}

static void test_modules(void **unused)
{
    static const struct {
        const char *path, *name;
        bool match;
    } v[] = {
        {"/lib/libfoo.so.1", "libfoo.so.1", true},
        {"/lib/libfoo.so.1", "libfoo.so", true},
        {"/lib/libfoo.so.1", "libfoo", true},
        {"/lib/libfoo.so.1", "libfo", false},
        {"/lib/libfoo.so.1", "foo.so.1", false},
        {"/lib/libfoo.so.1", "lib*", true},
        {"/lib/libfoo.so.1", "*foo*", true},
        {"/lib/libfoo.so.1", "/lib/libfoo.so.1", true},
        {"/lib/libfoo.so.1", "/lib/libfoo.so", false},
        {"/lib/libfoo.so.1", "/usr/lib/libfoo.so.1", false},
        {"/lib/libfoo.so.1", "*/libfoo.so.1", true},
        {"/lib/libfoo.so.1", "lib", false},
        {"/lib/libfoo-2.so", "libfoo.so", false},
        {"/tmp/a,b", "a,,b", true},
        {"/tmp/a=b", "a=b", true},
    };
    char args[256];

    (void)unused;
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        nr_maps = 0;
        map(0x1000, 0x1000, 0, 0x1000, v[i].path);
        map(0x2000, 0x1000, 0, 0x2000, "");
        snprintf(args, sizeof(args), "module=%s", v[i].name);
        assert_int_equal(query_once(args, 0x1234, 0), v[i].match ? ALWAYS : NEVER);
        assert_int_equal(query_once(args, 0x2000, 0), NEVER);
        assert_int_equal(query_once(args, 0x5000, 0), NEVER);
        snprintf(args, sizeof(args), "not-module=%s", v[i].name);
        assert_int_equal(query_once(args, 0x1234, 0), v[i].match ? NEVER : ALWAYS);
        assert_int_equal(query_once(args, 0x2000, 0), ALWAYS);
        assert_int_equal(query_once(args, 0x5000, 0), ALWAYS);
    }
    assert_int_equal(query_once("module=x,module=a*", 0x1000, 0), ALWAYS);
    assert_int_equal(query_once("module=a*,not-module=a*", 0x1000, 0), NEVER);
}

/* A mapping is replaced by another one between two blocks, and inside of no block. */
static void test_remapped(void **unused)
{
    void *f = filter("module=one");

    (void)unused;
    nr_maps = 0;
    map(0x1000, 0x1000, 0, 0x1000, "/tmp/one");
    assert_int_equal(query(f, 0x1000), ALWAYS);
    nr_maps = 0;
    map(0x1000, 0x1000, 0, 0x1000, "/tmp/two");
    assert_int_equal(query(f, 0x1000), NEVER);
    nr_maps = 0;
    map(0x1000, 0x1000, 0, 0x1000, "");
    assert_int_equal(query(f, 0x1000), NEVER);
    nr_maps = 0;
    assert_int_equal(query(f, 0x1000), NEVER);
    map(0x1000, 0x10, 0, 0x1000, "/tmp/one");
    map(0x1010, 0x10, 0, 0x1010, "/tmp/two");
    for (uint32_t i = 0; i < 8; i++) {
        struct cannoli_insn insn = {
            .pc = 0x1000 + 4 * i, .len = 4, .index = i, .block_pc = 0x1000};

        assert_int_equal(cannoli_jitter.hook_inst(f, &insn), i < 4 ? ALWAYS : NEVER);
    }
    cannoli_jitter.unload(f);
}

#define L CANNOLI_INSN_LOAD
#define S CANNOLI_INSN_STORE
#define H CANNOLI_INSN_HELPER

static void test_accesses(void **unused)
{
    /* for flags 0, L, S, L|S, H, H|L; then whether loads and stores are recorded */
    static const struct {
        const char *args;
        int answer[6], loads, stores;
    } v[] = {
        {"", {1, 1, 1, 1, 1, 1}, 1, 1},
        {"stores=on", {0, 0, 1, 1, 1, 1}, 0, 1},
        {"loads", {0, 1, 0, 1, 1, 1}, 1, 0},
        {"stores=on,loads=on", {0, 1, 1, 1, 1, 1}, 1, 1},
        {"not-stores=on", {1, 1, 0, 0, 1, 1}, 1, 0},
        {"not-loads=on", {1, 0, 1, 0, 1, 0}, 0, 1},
        {"stores=on,not-loads=on", {0, 0, 1, 0, 1, 0}, 0, 1},
        {"not-stores=on,not-loads=on", {1, 0, 0, 0, 1, 0}, 0, 0},
    };
    static const uint32_t flags[6] = {0, L, S, L | S, H, H | L};

    (void)unused;
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        struct cannoli_insn insn = {.pc = 0x1000, .len = 4};
        void *f = filter(v[i].args);

        for (size_t k = 0; k < 6; k++) {
            assert_int_equal(query_flags(f, 0x1000, flags[k]), v[i].answer[k]);
        }
        assert_int_equal(cannoli_jitter.hook_mem(f, &insn, 0, 4), v[i].loads);
        assert_int_equal(cannoli_jitter.hook_mem(f, &insn, 1, 0), v[i].stores);
        cannoli_jitter.unload(f);
    }
}

static void test_branches(void **unused)
{
    uint32_t ret = CANNOLI_INSN_BRANCH | CANNOLI_INSN_RETURN;

    (void)unused;
    assert_int_equal(query_once("branches=on", 0, ret), ALWAYS);
    assert_int_equal(query_once("branches=on", 0, L), NEVER);
    assert_int_equal(query_once("not-branches=on", 0, ret), NEVER);
    assert_int_equal(query_once("not-branches=on", 0, L), ALWAYS);
    /* all kinds must match */
    assert_int_equal(query_once("branches=on,loads=on", 0, ret), NEVER);
    assert_int_equal(query_once("branches=on,loads=on", 0, ret | L), ALWAYS);
    assert_int_equal(query_once("branches=on,loads=on,range=4-5", 0, ret | L), NEVER);
    assert_int_equal(query_once("branches=on,once=on", 0, ret), CANNOLI_ONCE);
    assert_int_equal(query_once("branches=on,once=on", 0, 0), NEVER);
}

static void test_opcodes(void **unused)
{
    static const struct {
        const char *args, *text;
        int answer;
    } v[] = {
        {"opcode=add", "add r0, r1", ALWAYS},
        {"opcode=ADD", "add r0, r1", ALWAYS},
        {"opcode=add", "ADD\tr0,r1", ALWAYS},
        {"opcode=add", "adds r0, r1", NEVER},
        {"opcode=add", "nop", NEVER},
        {"opcode=nop", "nop", ALWAYS},
        {"opcode=add*", "adds r0, r1", ALWAYS},
        {"opcode=r1", "mov r1, r2", NEVER},
        {"opcode=sub,opcode=add", "add r0", ALWAYS},
        {"opcode=cmpxchg", "lock cmpxchg dword ptr [rdi], esi", ALWAYS},
        {"opcode=lock", "lock cmpxchg dword ptr [rdi], esi", ALWAYS},
        {"opcode=dword", "lock cmpxchg dword ptr [rdi], esi", NEVER},
        {"opcode=rep", "rep stosq qword ptr [rdi], rax", ALWAYS},
        {"opcode=stosq", "rep stosq qword ptr [rdi], rax", ALWAYS},
        {"opcode=add", NULL, NEVER},
        {"not-opcode=add", "add r0, r1", NEVER},
        {"not-opcode=add", "sub r0, r1", ALWAYS},
        {"not-opcode=add", NULL, ALWAYS},
        {"opcode=add*,not-opcode=adds", "adds r0", NEVER},
        {"opcode=add*,not-opcode=adds", "add r0", ALWAYS},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
        text = v[i].text;
        if (query_once(v[i].args, 0x1000, 0) != v[i].answer) {
            fail_msg("%s: '%s'", v[i].args, text ? text : "");
        }
    }
}

/* What an IT says about the instructions after it is part of its names. */
static void test_it(void **unused)
{
    static const struct {
        const char *text;
        uint8_t bytes[4];
        uint32_t len;
        const char *names, *others; /* names that it has, and that it does not have */
    } v[] = {
        {"adds r0, #1", {0x01, 0x30}, 2, "opcode=adds", "opcode=add"},
        {"itte eq", {0x06, 0xbf}, 2, "opcode=itte", "opcode=it"},
        {"adds r0, #1", {0x01, 0x30}, 2, "opcode=addeq", "opcode=add*s"},
        {"ldr.w r8, [r0]", {0xd0, 0xf8, 0x00, 0x80}, 4, "opcode=ldreq", "opcode=ldr"},
        {"ldr.w r8, [r0]", {0xd0, 0xf8, 0x00, 0x80}, 4, "opcode=ldrne.w", "opcode=ldreq"},
        {"ldr.w r8, [r0]", {0xd0, 0xf8, 0x00, 0x80}, 4, "opcode=ldr", "opcode=ldrne"},
        {"it lo", {0x38, 0xbf}, 2, "opcode=it", "opcode=itlo"},
        {"vmov.f32 s0, s1",
         {0xb0, 0xee, 0x60, 0x0a},
         4,
         "opcode=vmovlo.f32",
         "opcode=vmov*2s"},
        {"nop", {0x00, 0xbf}, 2, "opcode=nop", "opcode=noplo"},
        {"adds r0, #1", {0x01, 0x30}, 2, "opcode=adds", "opcode=add"},
    };

    (void)unused;
    for (size_t k = 0; k < sizeof(v) / sizeof(*v); k++) {
        for (unsigned other = 0; other < 2; other++) {
            struct cannoli_host arm = host;
            uint64_t pc = 0x1000;
            void *f = NULL;

            arm.elf_machine = 40;
            assert_int_equal(
                cannoli_jitter.load(&arm, other ? v[k].others : v[k].names, &f), 0);
            for (size_t i = 0; i <= k; i++) {
                struct cannoli_insn insn = {.pc = pc,
                                            .bytes = v[i].bytes,
                                            .len = v[i].len,
                                            .mode = CTR_MODE_THUMB,
                                            .index = (uint32_t)i,
                                            .block_pc = 0x1000};
                int answer;

                text = v[i].text;
                answer = cannoli_jitter.hook_inst(f, &insn);
                if (i == k && answer != (other ? NEVER : ALWAYS)) {
                    fail_msg("%zu %s: %d", k, other ? v[k].others : v[k].names, answer);
                }
                pc += v[i].len;
            }
            cannoli_jitter.unload(f);
        }
    }
}

static void test_functions(void **unused)
{
    void *f = filter("function=filter_sized");

    (void)unused;
    assert_int_equal(query(f, AT(filter_sized) - 1), NEVER);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(query(f, AT(filter_sized) + i), ALWAYS);
    }
    assert_int_equal(query(f, AT(filter_unsized)), NEVER);
    assert_int_equal(query(f, AT(filter_after)), NEVER);
    /* The .cold part belongs to the function. */
    assert_int_equal(query(f, AT(filter_after) + 15), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 16), ALWAYS);
    assert_int_equal(query(f, AT(filter_after) + 23), ALWAYS);
    assert_int_equal(query(f, AT(filter_after) + 24), NEVER);
    cannoli_jitter.unload(f);

    /* A function without a size ends where the next one begins. */
    f = filter("function=filter_unsized,function=filter_bare");
    assert_int_equal(query(f, AT(filter_unsized) - 1), NEVER);
    assert_int_equal(query(f, AT(filter_unsized)), ALWAYS);
    assert_int_equal(query(f, AT(filter_unsized) + 15), ALWAYS);
    assert_int_equal(query(f, AT(filter_unsized) + 16), NEVER);
    assert_int_equal(query(f, AT(filter_bare)), ALWAYS);
    assert_int_equal(query(f, AT(filter_bare) + 8), NEVER);
    cannoli_jitter.unload(f);

    f = filter("function=filter_*,not-function=filter_after,function=filter_datum");
    assert_int_equal(query(f, AT(filter_sized)), ALWAYS);
    assert_int_equal(query(f, AT(filter_after)), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 16), ALWAYS);
    assert_int_equal(query(f, AT(filter_datum)), NEVER);
    cannoli_jitter.unload(f);

    assert_int_equal(query_once("function=filter_size", AT(filter_sized), 0), NEVER);
    assert_int_equal(query_once("not-function=filter_sized", AT(filter_sized), 0), NEVER);
    assert_int_equal(query_once("not-function=filter_sized", AT(filter_after), 0),
                     ALWAYS);
    assert_int_equal(query_once("function=test_filter!filter_sized", AT(filter_sized), 0),
                     ALWAYS);
    assert_int_equal(query_once("function=other!filter_sized", AT(filter_sized), 0),
                     NEVER);
    assert_int_equal(
        query_once("function=filter_sized,module=other", AT(filter_sized), 0), NEVER);
}

static void test_places(void **unused)
{
    char args[256];
    void *f = filter("start-at=filter_sized,stop-at=test_filter!filter_after,"
                     "start-at=0x123,range=0-1");

    (void)unused;
    assert_int_equal(closed, 1);
    assert_int_equal(query(f, AT(filter_sized)), CANNOLI_START);
    assert_int_equal(query(f, AT(filter_sized) + 1), NEVER);
    assert_int_equal(query(f, AT(filter_after)), CANNOLI_STOP);
    /* The .cold part is not the function's beginning. */
    assert_int_equal(query(f, AT(filter_after) + 16), NEVER);
    assert_int_equal(query(f, 0x123), CANNOLI_START);
    assert_int_equal(query(f, 0), ALWAYS);
    cannoli_jitter.unload(f);

    snprintf(args, sizeof(args), "stop-at=test_filter+%#llx,stop-at=other+0x10",
             (unsigned long long)(AT(filter_bare) - base));
    f = filter(args);
    assert_int_equal(closed, 0);
    assert_int_equal(query(f, AT(filter_bare)), CANNOLI_STOP | ALWAYS);
    assert_int_equal(query(f, AT(filter_bare) + 1), ALWAYS);
    assert_int_equal(query(f, base + 0x10), ALWAYS);
    assert_int_equal(query(f, 0x10), ALWAYS);
    cannoli_jitter.unload(f);
}

/* Ranges that have names, together with addresses. */
static void test_named_ranges(void **unused)
{
    char args[256];
    void *f = filter("range=filter_sized+4-filter_sized+8,range=0x1000,"
                     "range=test_filter!filter_after,not-range=filter_after+2+3");

    (void)unused;
    assert_int_equal(query(f, AT(filter_sized) + 3), NEVER);
    assert_int_equal(query(f, AT(filter_sized) + 4), ALWAYS);
    assert_int_equal(query(f, AT(filter_sized) + 7), ALWAYS);
    assert_int_equal(query(f, AT(filter_sized) + 8), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 1), ALWAYS);
    assert_int_equal(query(f, AT(filter_after) + 2), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 4), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 5), ALWAYS);
    assert_int_equal(query(f, AT(filter_unsized)), NEVER);
    cannoli_jitter.unload(f);

    /* A function has all of its parts, its begin one place. */
    assert_int_equal(query_once("range=filter_sized", AT(filter_after) + 16, 0), ALWAYS);
    assert_int_equal(query_once("range=filter_sized+0", AT(filter_after) + 16, 0), NEVER);
    assert_int_equal(query_once("range=filter_sized+0", AT(filter_sized), 0), ALWAYS);

    /* Each instruction of a range is a place to begin at. */
    f = filter("start-at=filter_unsized-filter_after,stop-at=filter_after+1,range=0");
    assert_int_equal(query(f, AT(filter_unsized) - 1), NEVER);
    assert_int_equal(query(f, AT(filter_unsized)), CANNOLI_START);
    assert_int_equal(query(f, AT(filter_unsized) + 15), CANNOLI_START);
    assert_int_equal(query(f, AT(filter_after)), NEVER);
    assert_int_equal(query(f, AT(filter_after) + 1), CANNOLI_STOP);
    cannoli_jitter.unload(f);

    /* Addresses of a file, also by the begin of its name. */
    snprintf(args, sizeof(args), "range=test_filter!%#llx,range=/nowhere!1",
             (unsigned long long)(AT(filter_bare) - base));
    assert_int_equal(query_once(args, AT(filter_bare), 0), ALWAYS);
    assert_int_equal(query_once(args, AT(filter_bare) + 1, 0), NEVER);
}

static struct cannoli_name report_at(int fd, unsigned name)
{
    struct cannoli_name n;

    assert_int_equal(pread(fd, &n, sizeof(n), (off_t)(name * sizeof(n))), sizeof(n));
    return n;
}

/* The report on names: which were found, and why others were not. */
static void test_report(void **unused)
{
    static const char *const why[] = {
        "no program or library 'other' ran",
        "no source file 'nosuch.c' in the line information of what ran",
        "",
        "no function 'filter_sizd' (did you mean 'filter_sized'?)",
    };
    static const unsigned reason[] = {3, 0, 1};
    int fd = memfd_create("report", 0);
    struct cannoli_name n;
    char args[256];
    void *f;

    (void)unused;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 5 * sizeof(struct cannoli_name)), 0);
    snprintf(
        args, sizeof(args),
        "report=/proc/%d/fd/%d,function=filter_sized,start-at=filter_sizd,not-range=1,"
        "stop-at=other!x,not-range=nosuch.c:5",
        (int)getpid(), fd);
    f = filter(args);
    assert_int_equal(report_at(fd, 0).state, CANNOLI_NAME_FOUND);
    assert_int_equal(report_at(fd, 1).state, 0);
    query(f, AT(filter_sized));
    assert_int_equal(report_at(fd, 0).state, CANNOLI_NAME_FOUND);
    assert_int_equal(report_at(fd, 1).state, CANNOLI_NAME_FOUND);
    for (unsigned i = 0; i < 3; i++) {
        n = report_at(fd, i + 2);
        assert_int_equal(n.state, CANNOLI_NAME_CLAIMED(reason[i]) |
                                      CANNOLI_NAME_WRITTEN(reason[i]));
        assert_string_equal(n.why[reason[i]], why[reason[i]]);
    }
    /* A file that cannot be read is named. */
    maps[0].path = "/tmp/no/such/file";
    generation++;
    query(f, AT(filter_sized));
    n = report_at(fd, 0);
    assert_int_equal(n.state, CANNOLI_NAME_FOUND | CANNOLI_NAME_CLAIMED(1) |
                                  CANNOLI_NAME_WRITTEN(1));
    assert_string_equal(n.why[1], "/tmp/no/such/file: No such file or directory");
    cannoli_jitter.unload(f);
    /* Whatever cannot be a report does not matter. */
    assert_int_equal(ftruncate(fd, sizeof(struct cannoli_name)), 0);
    setup(NULL);
    assert_int_equal(query_once(args, AT(filter_sized), 0), ALWAYS);
    close(fd);
    assert_int_equal(query_once(args, AT(filter_sized), 0), ALWAYS);
}

/* With callees, functions do not select instructions but open a window. */
static void test_callees(void **unused)
{
    void *f = filter("function=filter_sized,callees=on,stores=on,"
                     "not-function=filter_unsized");

    (void)unused;
    assert_int_equal(closed, 1);
    assert_int_equal(query(f, AT(filter_sized)), CANNOLI_TREE);
    assert_int_equal(query_flags(f, AT(filter_sized), S), CANNOLI_TREE | ALWAYS);
    assert_int_equal(query_flags(f, AT(filter_sized) + 4, S), ALWAYS);
    assert_int_equal(query_flags(f, AT(filter_after), S), ALWAYS);
    assert_int_equal(query_flags(f, AT(filter_unsized), S), NEVER);
    cannoli_jitter.unload(f);
}

static void check_range(const char *args, uint64_t pc, int answer, uint64_t start,
                        uint64_t end)
{
    struct cannoli_range r;
    void *f = filter(args);
    int got = query_range(f, pc, &r);

    if (got != answer || r.start != start || r.end != end) {
        fail_msg("%s: %#x from %#llx to %#llx", args, (unsigned)got,
                 (unsigned long long)r.start, (unsigned long long)r.end);
    }
    cannoli_jitter.unload(f);
}

/* The answer for an address covers as far as it holds. */
static void test_reach(void **unused)
{
    const uint64_t from = maps[0].start, to = maps[0].end;
    const uint64_t unsized = AT(filter_unsized), cold = AT(filter_after) + 16;
    struct cannoli_host arm = host;
    struct cannoli_range r;
    void *f;

    (void)unused;
    check_range("", 0x5000, ALWAYS, 0, UINT64_MAX);
    check_range("opcode=nop", 0x5000, ALWAYS, 0, UINT64_MAX);
    check_range("range=0-1", 0x5000, NEVER, 1, UINT64_MAX);
    check_range("range=0x10-0x20,range=0x40-0x50", 0x30, NEVER, 0x20, 0x40);
    check_range("not-range=0x10-0x20,stores=on", 0x1f, NEVER, 0x10, 0x20);
    check_range("range=0-1,stop-at=0x5004", 0x5000, NEVER, 1, 0x5004);
    check_range("range=0-1,stop-at=0x5004", 0x5004, CANNOLI_STOP, 0x5004, 0x5005);
    check_range("range=0-1,stop-at=0x5004", 0x5005, NEVER, 0x5005, UINT64_MAX);
    check_range("module=other", unsized, NEVER, from, to);
    check_range("not-module=other", unsized, ALWAYS, from, to);
    check_range("function=filter_sized", unsized, NEVER, unsized, cold);
    check_range("function=filter_sized", AT(filter_sized), ALWAYS, from, to);
    check_range("not-function=filter_unsized", unsized, NEVER, unsized, unsized + 16);
    check_range("function=filter_sized,callees=on", unsized, ALWAYS, AT(filter_sized) + 1,
                to);
    /* Nothing is mapped there, or more than the address counts. */
    check_range("module=other", 0x10, CANNOLI_ANYTHING, 0, UINT64_MAX);
    arm.elf_machine = 40;
    assert_int_equal(cannoli_jitter.load(&arm, "opcode=nop,range=0-1", &f), 0);
    assert_int_equal(query_range(f, 0x5000, &r), CANNOLI_ANYTHING);
    cannoli_jitter.unload(f);
}

/* Each instruction's answer is possible under the answer for any address near it. */
static void test_admitted(void **unused)
{
    static const char *const args[] = {
        "range=0x1010-0x1020,range=0x1030-0x1040,not-range=0x1018-0x101c",
        "module=one,start-at=one+0x14,stop-at=0x1032",
        "module=two,not-range=0x1000-0x1024,stop-at=one+0x44",
        "not-module=one,start-at=two+8,once=on",
        "function=filter_sized,function=filter_unsized",
        "function=filter_*,not-function=filter_after,stop-at=filter_after",
        "function=filter_unsized,callees=on,not-function=filter_sized",
        "range=filter_sized+3+9,range=0x1010,not-range=filter_sized+5,start-at=filter_after",
        "start-at=filter_sized+2+20,stop-at=filter_sized+10-filter_after,range=0x1000+4",
    };
    static const uint32_t flags[] = {0, L, S, CANNOLI_INSN_BRANCH};
    uint64_t pcs[0x50 + 96];
    size_t n = 0;

    (void)unused;
    map(0x1000, 0x20, 0x100, 0x1000, "/tmp/one");
    map(0x1020, 0x10, 0, 0x1020, "/tmp/two");
    map(0x1030, 0x20, 0x130, 0x1000, "/tmp/one");
    for (unsigned i = 0; i < 0x50; i++) {
        pcs[n++] = 0x1000 + i;
    }
    for (unsigned i = 0; i < 96; i++) {
        pcs[n++] = AT(filter_sized) - 8 + i;
    }
    for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++) {
        void *f = filter(args[i]);

        for (size_t k = 0; k < n; k++) {
            struct cannoli_range r;
            int around = query_range(f, pcs[k], &r);

            for (size_t m = 0; m < n; m++) {
                int answer = query_flags(f, pcs[m], flags[m % 4]);

                if (pcs[m] >= r.start && pcs[m] < r.end && !is_within(answer, around)) {
                    fail_msg("%s: %#llx is wrong for %#llx", args[i],
                             (unsigned long long)pcs[k], (unsigned long long)pcs[m]);
                }
            }
        }
        cannoli_jitter.unload(f);
    }
}

static void copy_self(const char *to)
{
    char buf[65536];
    int in = open(self, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n;

    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, buf, sizeof(buf))) > 0) {
        assert_int_equal(write(out, buf, (size_t)n), n);
    }
    close(in);
    close(out);
}

/* A path that later names another file, a broken one, and none. */
static void test_files(void **unused)
{
    char path[] = "/tmp/cannoli-filter-XXXXXX";
    int fd = mkstemp(path);
    void *f = filter("function=filter_sized");
    static const uint64_t cut[] = {0, 1, 16, 63, 64, 4096};

    (void)unused;
    assert_true(fd >= 0);
    close(fd);
    for (unsigned i = 0; i < nr_maps; i++) {
        maps[i].path = path;
    }
    assert_int_equal(query(f, AT(filter_sized)), NEVER);
    copy_self(path);
    /* While mappings stay the same, the file is not read again. */
    assert_int_equal(query(f, AT(filter_sized)), NEVER);
    generation++;
    assert_int_equal(query(f, AT(filter_sized)), ALWAYS);
    for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++) {
        assert_int_equal(truncate(path, (off_t)cut[i]), 0);
        generation++;
        assert_int_equal(query(f, AT(filter_sized)), NEVER);
    }
    unlink(path);
    generation++;
    assert_int_equal(query(f, AT(filter_sized)), NEVER);
    cannoli_jitter.unload(f);
}

/* Damaged files may give any symbols, but the filter survives. */
static void test_damaged(void **unused)
{
    char path[] = "/tmp/cannoli-filter-XXXXXX";
    int fd = mkstemp(path);
    void *f = filter("function=*,not-function=a*,start-at=filter_sized");
    uint64_t rnd = 88172645463325252ull;
    struct stat st;

    (void)unused;
    assert_true(fd >= 0);
    copy_self(path);
    assert_int_equal(fstat(fd, &st), 0);
    for (unsigned i = 0; i < nr_maps; i++) {
        maps[i].path = path;
    }
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned k = 0; k < 4; k++) {
            /* Headers of the file, of segments, of sections. */
            uint64_t at;

            rnd ^= rnd << 13;
            rnd ^= rnd >> 7;
            rnd ^= rnd << 17;
            at = k & 1 ? rnd % 1024 : (uint64_t)st.st_size - 1 - rnd % 2400;
            assert_int_equal(pwrite(fd, &(uint8_t){(uint8_t)(rnd >> 40)}, 1, (off_t)at),
                             1);
        }
        generation++;
        query(f, AT(filter_sized));
        if (i % 10 == 9) {
            copy_self(path);
        }
    }
    close(fd);
    unlink(path);
    cannoli_jitter.unload(f);
}

/* The filter opens files without using this process's descriptors: none may be free. */
static void test_descriptors(void **unused)
{
    int first = dup(STDERR_FILENO), second;
    struct rlimit limit, none;

    (void)unused;
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = (rlim_t)first;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    second = dup(STDERR_FILENO);
    assert_int_equal(query_once("function=filter_sized", AT(filter_sized), 0), ALWAYS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(second, -1);
    second = dup(STDERR_FILENO);
    assert_int_equal(second, first);
    close(second);
    /* No child process is left. */
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
}

static void test_privileges(void **unused)
{
    static const struct {
        const char *args;
        int user, kernel, none; /* answers */
    } cases[] = {
        {"user=on", ALWAYS, NEVER, NEVER},
        {"kernel=on", NEVER, ALWAYS, NEVER},
        {"user=on,kernel=on", ALWAYS, ALWAYS, NEVER},
        {"not-user=on", NEVER, ALWAYS, ALWAYS},
        {"not-kernel=on", ALWAYS, NEVER, ALWAYS},
        {"user=on,range=8-9,once=on", CANNOLI_ONCE, NEVER, NEVER},
        {"user=on,range=9-10", NEVER, NEVER, NEVER},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t p = 0; p < CTR_PRIVILEGES; p++) {
            int want = p == CTR_PRIVILEGE_NONE         ? cases[i].none
                       : p == CTR_PRIVILEGE_USER       ? cases[i].user
                       : p == CTR_PRIVILEGE_GUEST_USER ? cases[i].user
                       : p == CTR_PRIVILEGE_M_USER     ? cases[i].user
                                                       : cases[i].kernel;
            assert_int_equal(query_privilege(cases[i].args, p), want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_privileges, setup),
        cmocka_unit_test_setup(test_refused, setup),
        cmocka_unit_test_setup(test_ranges, setup),
        cmocka_unit_test_setup(test_modules, setup),
        cmocka_unit_test_setup(test_remapped, setup),
        cmocka_unit_test_setup(test_accesses, setup),
        cmocka_unit_test_setup(test_branches, setup),
        cmocka_unit_test_setup(test_opcodes, setup),
        cmocka_unit_test_setup(test_it, setup),
        cmocka_unit_test_setup(test_functions, setup),
        cmocka_unit_test_setup(test_places, setup),
        cmocka_unit_test_setup(test_named_ranges, setup),
        cmocka_unit_test_setup(test_report, setup),
        cmocka_unit_test_setup(test_callees, setup),
        cmocka_unit_test_setup(test_reach, setup),
        cmocka_unit_test_setup(test_admitted, setup),
        cmocka_unit_test_setup(test_files, setup),
        cmocka_unit_test_setup(test_damaged, setup),
        cmocka_unit_test_setup(test_descriptors, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
