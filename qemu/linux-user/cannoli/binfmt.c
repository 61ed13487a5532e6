/*
 * Execution tracing into shared memory: programs that binfmt_misc would run
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the machine runs programs of this target by itself, a recorded program
 * that executes one stays recorded without an option.  The QEMU that the kernel
 * would start cannot get the option: an environment variable would be visible
 * to any program that is not a QEMU that knows it.  So the recorded QEMU starts
 * itself, as the kernel would start the other one: with the guest's environment
 * as it is and without options.
 */
#include "qemu/osdep.h"
#include "exec.h"

#define BINFMT_DIR "/proc/sys/fs/binfmt_misc"

/* The number of bytes of a file that the kernel compares. */
#define MAX_MAGIC 256

typedef struct Entry {
    uint8_t magic[MAX_MAGIC], mask[MAX_MAGIC];
    unsigned offset, len;
    bool keeps_argv0, sets_ids;
} Entry;

static GArray *entries;

/* Hexadecimal digits to bytes; their number, 0 if they are none. */
static unsigned parse_bytes(const char *hex, uint8_t out[MAX_MAGIC])
{
    unsigned n = 0;

    for (; g_ascii_isxdigit(hex[0]) && g_ascii_isxdigit(hex[1]); hex += 2) {
        if (n == MAX_MAGIC) {
            return 0;
        }
        out[n++] =
            g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]);
    }
    return n;
}

/* Whether the text is an enabled entry for a QEMU. */
static bool parse_entry(char *text, Entry *e)
{
    bool enabled = false, is_qemu = false;
    char *save = NULL;

    memset(e, 0, sizeof(*e));
    memset(e->mask, 0xff, sizeof(e->mask));
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (!strcmp(line, "enabled")) {
            enabled = true;
        } else if (g_str_has_prefix(line, "interpreter ")) {
            g_autofree char *base = g_path_get_basename(line + 12);

            is_qemu = g_str_has_prefix(base, "qemu-");
        } else if (g_str_has_prefix(line, "flags: ")) {
            e->keeps_argv0 = strchr(line + 7, 'P');
            e->sets_ids = strchr(line + 7, 'C');
        } else if (g_str_has_prefix(line, "offset ")) {
            e->offset = strtoul(line + 7, NULL, 10);
        } else if (g_str_has_prefix(line, "magic ")) {
            e->len = parse_bytes(line + 6, e->magic);
        } else if (g_str_has_prefix(line, "mask ")) {
            parse_bytes(line + 5, e->mask);
        }
    }
    return enabled && is_qemu && e->len;
}

void cannoli_binfmt_load(void)
{
    g_autofree char *status = NULL;
    GDir *dir;
    const char *name;

    if (!g_file_get_contents(BINFMT_DIR "/status", &status, NULL, NULL) ||
        !g_str_has_prefix(status, "enabled")) {
        return;
    }
    dir = g_dir_open(BINFMT_DIR, 0, NULL);
    if (!dir) {
        return;
    }
    entries = g_array_new(false, false, sizeof(Entry));
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(BINFMT_DIR, name, NULL);
        g_autofree char *text = NULL;
        Entry e;

        if (strcmp(name, "register") && strcmp(name, "status") &&
            g_file_get_contents(path, &text, NULL, NULL) &&
            parse_entry(text, &e)) {
            g_array_append_val(entries, e);
        }
    }
    g_dir_close(dir);
}

bool cannoli_binfmt_any(void)
{
    return entries && entries->len;
}

CannoliBinfmt cannoli_binfmt_match(const uint8_t *head, size_t n)
{
    for (guint i = 0; entries && i < entries->len; i++) {
        const Entry *e = &g_array_index(entries, Entry, i);
        unsigned at = 0;

        if (e->offset > n || e->len > n - e->offset) {
            continue;
        }
        while (at < e->len &&
               !((head[e->offset + at] ^ e->magic[at]) & e->mask[at])) {
            at++;
        }
        if (at == e->len) {
            return CANNOLI_BINFMT_RUNS |
                   (e->keeps_argv0 ? CANNOLI_BINFMT_ARGV0 : 0) |
                   (e->sets_ids ? CANNOLI_BINFMT_IDS : 0);
        }
    }
    return 0;
}
