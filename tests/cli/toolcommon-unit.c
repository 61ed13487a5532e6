/* SPDX-License-Identifier: MIT */
/*
 * Code that the tools share, compared with slow and obvious versions: number
 * formatting with printf, values of options, JSON strings, words for a shell, arguments of
 * programs, and disassembly of known instructions.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "guest/disas.h"
#include "input/args.h"
#include "input/idcache.h"
#include "common/items.h"
#include "common/options.h"
#include "common/quantity.h"
#include "common/textbuf.h"

#include "check.h"

static void check_number(uint64_t v)
{
    char mine[64], theirs[64];

    *fmt_u64(mine, v) = 0;
    snprintf(theirs, sizeof(theirs), "%" PRIu64, v);
    CHECK(!strcmp(mine, theirs), "fmt_u64: %s for %s", mine, theirs);
    *fmt_hex(mine, v) = 0;
    snprintf(theirs, sizeof(theirs), "%" PRIx64, v);
    CHECK(!strcmp(mine, theirs), "fmt_hex: %s for %s", mine, theirs);
    for (int width = 1; width <= 16; width += 5) {
        *fmt_u64_width(mine, v, (unsigned)width) = 0;
        snprintf(theirs, sizeof(theirs), "%*" PRIu64, width, v);
        CHECK(!strcmp(mine, theirs), "fmt_u64_width: '%s' for '%s'", mine, theirs);
        *fmt_hex_width(mine, v, (unsigned)width) = 0;
        snprintf(theirs, sizeof(theirs), "%0*" PRIx64, width, v);
        CHECK(!strcmp(mine, theirs), "fmt_hex_width: '%s' for '%s'", mine, theirs);
    }
}

static void test_numbers(void)
{
    for (uint64_t v = 0; v < 20000; v++) {
        check_number(v);
    }
    for (int bits = 0; bits < 64; bits++) {
        for (int i = 0; i < 200; i++) {
            check_number(rng() >> bits);
        }
        check_number(1ull << bits);
        check_number((1ull << bits) - 1);
    }
    for (uint64_t v = 1; v < UINT64_MAX / 10; v *= 10) {
        check_number(v);
        check_number(v - 1);
    }
    check_number(UINT64_MAX);
}

static void test_values(void)
{
    static const struct {
        const char *text;
        uint64_t from, to; /* of the last range */
        uint32_t n;
    } good[] = {
        {"1", 1, 2, 1},
        {"0x10-0x20", 16, 32, 1},
        {"5+1", 5, 6, 1},
        {"1-2,7,0x30+16", 48, 64, 3},
        {"0xffffffffffffffff", UINT64_MAX, UINT64_MAX, 1},
        {"0xfffffffffffffff0+16", UINT64_MAX - 15, UINT64_MAX, 1},
        {"0-18446744073709551615", 0, UINT64_MAX, 1},
    };
    static const char *const bad[] = {"",
                                      "x",
                                      "0x",
                                      "1-",
                                      "-1",
                                      "2-2",
                                      "3-2",
                                      "1+0",
                                      "1,",
                                      ",1",
                                      "1 ",
                                      "18446744073709551616",
                                      "0xffffffffffffffff+2",
                                      "1-2-3",
                                      "1+",
                                      "1,,2"};
    uint64_t v;
    unsigned jobs;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct tool_ranges r = {0};
        CHECK(tool_parse_ranges(good[i].text, &r), "refused '%s'", good[i].text);
        CHECK(r.n == good[i].n && r.v[r.n - 1].from == good[i].from &&
                  r.v[r.n - 1].to == good[i].to,
              "'%s' misread", good[i].text);
        free(r.v);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct tool_ranges r = {0};
        CHECK(!tool_parse_ranges(bad[i], &r), "took '%s'", bad[i]);
        free(r.v);
    }
    CHECK(tool_parse_u64("0xfF", &v) && v == 255, "0xfF");
    CHECK(!tool_parse_u64("+1", &v) && !tool_parse_u64(" 1", &v), "+1");
    CHECK(tool_parse_jobs("1", &jobs) && jobs == 1, "-j1");
    CHECK(!tool_parse_jobs("0", &jobs) && !tool_parse_jobs("1025", &jobs), "-j0");
}

static void test_quantities(void)
{
    static const struct {
        const char *text;
        uint64_t value;
    } counts[] = {{"7", 7},           {"0x10", 16},         {"1,234,567", 1234567},
                  {"40K", 40000},     {"1.2M", 1200000},    {"1000k", 1000000},
                  {"2G", 2000000000}, {"1.50G", 1500000000}},
      times[] = {{"1.5", 1500000000}, {"1.5s", 1500000000},
                 {"30ms", 30000000},  {"20us", 20000},
                 {"5ns", 5},          {"2min", UINT64_C(120000000000)}};
    static const char *const bad_counts[] = {"",     "K",   "-1", "1,23",     "1,2345",
                                             "0x1G", "1.2", "1X", "20000000T"};
    static const char *const bad_times[] = {"", "s", "-1", "nan", "1h", "1e300", "0.5ns"};
    uint64_t v;

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        CHECK(quantity_parse(counts[i].text, &v) && v == counts[i].value, "'%s' misread",
              counts[i].text);
    }
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        CHECK(quantity_parse_seconds(times[i].text, &v) && v == times[i].value,
              "'%s' misread", times[i].text);
    }
    for (size_t i = 0; i < sizeof(bad_counts) / sizeof(*bad_counts); i++) {
        CHECK(!quantity_parse(bad_counts[i], &v), "accepted '%s'", bad_counts[i]);
    }
    for (size_t i = 0; i < sizeof(bad_times) / sizeof(*bad_times); i++) {
        CHECK(!quantity_parse_seconds(bad_times[i], &v), "accepted '%s'", bad_times[i]);
    }
}

/* Items of which some look like one that is malformed. */
static void test_items(void)
{
    static const char *const good[] = {"main",
                                       "main+4",
                                       "main+0x10+8",
                                       "app+0",
                                       "c++filt!main",
                                       "lib+x.so!f",
                                       "a+b.c:12",
                                       "libstdc++.so.6+0x10-libstdc++.so.6+0x20",
                                       "f(int+x)",
                                       "F<A+B>",
                                       "operator+",
                                       "Box::operator+",
                                       "operator++",
                                       "operator+++4",
                                       "operator-",
                                       "operator--",
                                       "Box::operator+=",
                                       "app!operator!",
                                       "'main+zz'",
                                       "'main-'",
                                       "'parse.c'::f",
                                       "main-leaf",
                                       "+[Foo bar]",
                                       "*+*"};
    static const char *const bad[] = {"main+zz",  "main+",     "main+0x",  "main+4+zz",
                                      "main+4+0", "'main'+zz", "f(int)+x", "F<A+B>+C",
                                      "main-",    "app!",      "parse.c:", "+zz",
                                      "+4",       "c++filt",   "libstdc++"};

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        CHECK(!item_malformed(good[i]), "'%s' %s", good[i], item_malformed(good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(item_malformed(bad[i]), "'%s' is accepted", bad[i]);
    }
}

static void test_json(void)
{
    static const struct {
        const char *in, *out;
    } t[] = {
        {"plain", "\"plain\""},
        {"a\"b\\c\n\x7f", "\"a\\\"b\\\\c\\u000a\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff\xc3(\xc0\x80\xed\xa0\x80",
         "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
    };

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        struct textbuf b = {0};
        CHECK(textbuf_json_string(&b, t[i].in, strlen(t[i].in)), "json");
        CHECK(b.len == strlen(t[i].out) && !memcmp(b.data, t[i].out, b.len),
              "json %zu: %.*s", i, (int)b.len, b.data);
        textbuf_fini(&b);
    }
}

static void test_printable(void)
{
    static const struct {
        const char *in, *out;
    } t[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"a\033[2J\n\t\x7f", "a?[2J???"},
        {"\xc2\x9b[2J\xc2\x80\xc2\x9f", "??[2J????"},
        {"\xc3\xa9\xc2\xa0\xe2\x82\xac\xf0\x9f\x98\x80",
         "\xc3\xa9\xc2\xa0\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff\xc2", "\xff\xc2"},
    };

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        struct textbuf b = {0};
        CHECK(textbuf_printable(&b, t[i].in, strlen(t[i].in)), "memory");
        CHECK(b.len == strlen(t[i].out) && !memcmp(b.data, t[i].out, b.len),
              "printable: %.*s for %s", (int)b.len, b.data, t[i].out);
        textbuf_fini(&b);
    }
}

/* An item that replaces another one uses its place, also in the sum. */
static void test_idcache(void)
{
    struct idcache c = {.max_bytes = 200}; /* an entry itself costs something, too */

    CHECK(!idcache_get(&c, 0), "not empty");
    for (unsigned i = 0; i < 50; i++) {
        CHECK(idcache_put(&c, 7, malloc(60), 60), "memory");
        CHECK(c.bytes == 60, "%zu bytes", c.bytes);
    }
    CHECK(idcache_put(&c, 5000, malloc(50), 50), "memory");
    CHECK(idcache_get(&c, 7) && idcache_get(&c, 5000), "dropped too early");
    CHECK(idcache_put(&c, 1, malloc(10), 10), "memory");
    CHECK(!idcache_get(&c, 7) && !idcache_get(&c, 5000) && idcache_get(&c, 1),
          "not dropped");
    CHECK(c.bytes == 10 && !idcache_get(&c, 100000), "%zu bytes", c.bytes);
    idcache_fini(&c);
    /* As many colliding ids as others, also while the table grows. */
    c.max_bytes = 1 << 20;
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t id = i % 2 ? i : 1024 * i, *p = malloc(sizeof(*p));
        CHECK(p && idcache_put(&c, id, p, sizeof(*p)), "memory");
        *p = id;
    }
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t id = i % 2 ? i : 1024 * i, *p = idcache_get(&c, id);
        CHECK(p && *p == id, "%u is not there", id);
        CHECK(i < 2 || !idcache_get(&c, 1024 * i + 512), "%u is there", i);
    }
    idcache_fini(&c);
}

static void test_markup(void)
{
    static const struct {
        const char *in, *out;
    } t[] = {
        {"", ""},
        {"plain 'text'", "plain 'text'"},
        {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
        {"\n\t\x01\x7f", "&#10;&#9;\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3\xa9\xff\xef\xbf\xbe", "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        struct textbuf b = {0};
        CHECK(textbuf_markup(&b, t[i].in, strlen(t[i].in)), "markup");
        CHECK(b.len == strlen(t[i].out) && b.data && !memcmp(b.data, t[i].out, b.len),
              "markup %zu: %.*s", i, (int)b.len, b.data);
        textbuf_fini(&b);
    }
}

static void check_disas(struct disas *d, uint64_t pc, const char *bytes, size_t n,
                        const char *want)
{
    char text[DISAS_TEXT_MAX + 1];

    text[disas_insn(d, pc, (const uint8_t *)bytes, n, text)] = 0;
    CHECK(!strcmp(text, want), "disas: '%s', not '%s'", text, want);
}

static void test_disas(void)
{
    static const struct {
        unsigned machine;
        bool be;
        const char *target;
        unsigned mode;
        const char *bytes;
        size_t n;
        const char *want;
    } t[] = {
        {EM_ARM, false, "arm", 0, "\x00\x48\x2d\xe9", 4, "push {fp, lr}"},
        {EM_ARM, false, "arm", CTR_MODE_THUMB, "\x70\x47", 2, "bx lr"},
        {EM_ARM, false, "arm", CTR_MODE_THUMB, "\xff\xf7\xfe\xff", 4, "bl #0x1000"},
        {EM_AARCH64, false, "aarch64", 0, "\xc0\x03\x5f\xd6", 4, "ret"},
        {EM_AARCH64, true, "aarch64_be", 0, "\xfd\x03\x00\x91", 4, "mov x29, sp"},
        {EM_386, false, "i386", CTR_MODE_X86_32, "\x89\xe5", 2, "mov ebp, esp"},
        {EM_X86_64, false, "x86_64", CTR_MODE_X86_64, "\x48\x89\xe5", 3, "mov rbp, rsp"},
        {EM_X86_64, false, "x86_64", CTR_MODE_X86_64, "\x48\x89\xe5\x90", 4,
         ".byte 0x48, 0x89, 0xe5, 0x90"},
        {EM_MIPS, true, "mips", 0, "\x27\xbd\xff\xe0", 4, "addiu $sp, $sp, -0x20"},
        {EM_MIPS, false, "mipsel", 0, "\xe0\xff\xbd\x27", 4, "addiu $sp, $sp, -0x20"},
        {EM_MIPS, true, "mips64", 0, "\x67\xbd\xff\xe0", 4, "daddiu $sp, $sp, -0x20"},
        {EM_MIPS, true, "mips", CTR_MODE_MIPS16, "\x65\x00", 2, ".byte 0x65, 0x00"},
        {EM_PPC64, false, "ppc64le", 0, "\x20\x00\x80\x4e", 4, "blr"},
        {EM_PPC, true, "ppc", 0, "\x4e\x80\x00\x20", 4, "blr"},
        {EM_S390, true, "s390x", 0, "\x07\xfe", 2, "br %r14"},
        {EM_S390, true, "s390x", 0, "\xd2\x07\x10\x00\x20\x00", 6,
         "mvc 0(8, %r1), 0(%r2)"},
        {EM_SPARCV9, true, "sparc64", 0, "\x01\x00\x00\x00", 4, "nop"},
        {EM_68K, true, "m68k", 0, "\x4e\x75", 2, "rts"},
        {EM_PARISC, true, "hppa", 0, "\x08\x00\x02\x40", 4,
         ".byte 0x08, 0x00, 0x02, 0x40"},
    };

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        struct disas *d = disas_new(t[i].machine, t[i].be, t[i].target);
        CHECK(d, "disas_new");
        disas_block(d, t[i].mode);
        check_disas(d, 0x1000, t[i].bytes, t[i].n, t[i].want);
        disas_free(d);
    }

    /* An IT block is valid within a block and ends with it. */
    struct disas *d = disas_new(EM_ARM, false, "arm");
    disas_block(d, CTR_MODE_THUMB);
    check_disas(d, 0x1000, "\x08\xbf", 2, "it eq");
    check_disas(d, 0x1002, "\x01\x20", 2, "moveq r0, #1");
    check_disas(d, 0x1004, "\x01\x20", 2, "movs r0, #1");
    check_disas(d, 0x1006, "\x04\xbf", 2, "itt eq");
    disas_block(d, CTR_MODE_THUMB);
    check_disas(d, 0x1000, "\x01\x20", 2, "movs r0, #1");
    disas_block(d, CTR_MODE_DEFAULT);
    check_disas(d, 0x1000, "\x1e\xff\x2f\xe1", 4, "bx lr");
    CHECK(!strncmp(disas_engine(d), "Capstone ", 9), "engine");
    disas_free(d);
}

/* Words, as bash reads them back. */
static void test_shell(void)
{
    static const struct {
        const char *word;
        size_t n;
        const char *want;
    } t[] = {
        {"", 0, "''"},
        {"plain-1_=+./,:@%^", 17, "plain-1_=+./,:@%^"},
        {"a b", 3, "'a b'"},
        {"it's", 4, "'it'\\''s'"},
        {"$HOME `x` \\ \"", 13, "'$HOME `x` \\ \"'"},
        {"~", 1, "'~'"},
        {"\xc3\xa4", 2, "'\xc3\xa4'"},
        {"a\n\t\r\\'b", 7, "$'a\\n\\t\\r\\\\\\'b'"},
        {"\0331\x7f", 3, "$'\\0331\\177'"},
        {"\xc2\x85", 2, "$'\\302\\205'"}, /* a control character of C1 */
        {"a\0b", 3, "$'a\\000b'"},
    };
    struct textbuf b = {0};

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        b.len = 0;
        CHECK(textbuf_shell_word(&b, t[i].word, t[i].n) && textbuf_printf(&b, "%c", 0) &&
                  !strcmp(b.data, t[i].want),
              "shell word: %s, not %s", b.data, t[i].want);
    }
    textbuf_fini(&b);
}

#define ARGS(text) {text, sizeof(text) - 1}

/* Arguments, whole and cut, by the recording or for want of room. */
static void test_args(void)
{
    static const struct {
        struct ctr_str args;
        uint32_t argc;
        size_t room;
        const char *shell, *json, *base;
    } t[] = {
        {{NULL, 0}, 0, 99, "", "", ""},
        {ARGS("cat\0"), 1, 99, "cat", ",\"argv\":[\"cat\"]", "cat"},
        {ARGS("/bin/cat\0\0a b\0"), 3, 99, "/bin/cat '' 'a b'",
         ",\"argv\":[\"/bin/cat\",\"\",\"a b\"]", "cat"},
        {ARGS("\0"), 1, 99, "''", ",\"argv\":[\"\"]", ""},
        {ARGS("dir/\0"), 1, 99, "dir/", ",\"argv\":[\"dir/\"]", ""},
        {ARGS("cat\0fil"), 2, 99, "cat fil...", ",\"argv\":[\"cat\",\"fil\"],\"argc\":2",
         "cat"},
        {ARGS("cat\0fil"), 5, 99, "cat fil...", ",\"argv\":[\"cat\",\"fil\"],\"argc\":5",
         "cat"},
        {ARGS("cat\0file\0"), 5, 99, "cat file ...",
         ",\"argv\":[\"cat\",\"file\"],\"argc\":5", "cat"},
        {ARGS("cat\0file\0x\0"), 3, 10, "cat file x",
         ",\"argv\":[\"cat\",\"file\",\"x\"]", "cat"},
        {ARGS("cat\0file\0xy\0"), 3, 10, "cat file x...",
         ",\"argv\":[\"cat\",\"file\",\"xy\"]", "cat"},
        {ARGS("cat\0file\0xy\0"), 3, 9, "cat file ...",
         ",\"argv\":[\"cat\",\"file\",\"xy\"]", "cat"},
        {ARGS("cat\0file\0"), 2, 6, "cat fi...", ",\"argv\":[\"cat\",\"file\"]", "cat"},
        {ARGS("a b c\0"), 1, 3, "'a b'...", ",\"argv\":[\"a b c\"]", "a b c"},
        /* a character is not split */
        {ARGS("x\xe2\x82\xac\0"), 1, 3, "x...", ",\"argv\":[\"x\xe2\x82\xac\"]",
         "x\xe2\x82\xac"},
    };
    struct textbuf b = {0};

    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
        const struct program p = {t[i].args, t[i].argc};
        const struct ctr_str base = args_base(&p);
        b.len = 0;
        CHECK(args_put_shell(&b, &p, t[i].room) && textbuf_printf(&b, "%c", 0) &&
                  !strcmp(b.data, t[i].shell),
              "arguments %zu for a shell: %s, not %s", i, b.data, t[i].shell);
        b.len = 0;
        CHECK(args_put_json(&b, &p) && textbuf_printf(&b, "%c", 0) &&
                  !strcmp(b.data, t[i].json),
              "arguments %zu as JSON: %s, not %s", i, b.data, t[i].json);
        CHECK(base.n == strlen(t[i].base) &&
                  (!base.n || !memcmp(base.p, t[i].base, base.n)),
              "arguments %zu: base %.*s, not %s", i, (int)base.n, base.p, t[i].base);
    }
    textbuf_fini(&b);
}

int main(void)
{
    test_numbers();
    test_values();
    test_quantities();
    test_items();
    test_json();
    test_markup();
    test_printable();
    test_shell();
    test_args();
    test_idcache();
    test_disas();
    if (failures) {
        fprintf(stderr, "%d checks failed\n", failures);
        return 1;
    }
    puts("ok");
    return 0;
}
