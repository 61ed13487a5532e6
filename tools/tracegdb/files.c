/* SPDX-License-Identifier: MIT */
/*
 * Files for gdb: which program runs, its auxiliary vector, and the bytes of the programs
 * and libraries of the trace.  Other files are not served.
 */
#include "session.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/comm.h"

#define FILES_MOST 64
#define READ_MOST 0x4000u
#define HPPA_R24 24 /* gdb's number */

/* What gdb opened, and what else was looked for. */
struct file_server {
    int fds[FILES_MOST]; /* -1: free */
    char *program;       /* of process `of' */
    uint8_t auxv[4096];
    size_t auxv_bytes;
    uint32_t of;
    bool known;
};

static struct file_server *server_of(struct session *s)
{
    if (!s->files) {
        s->files = calloc(1, sizeof(*s->files));
        for (int i = 0; s->files && i < FILES_MOST; i++) {
            s->files->fds[i] = -1;
        }
    }
    return s->files;
}

void files_close(struct session *s)
{
    for (int i = 0; s->files && i < FILES_MOST; i++) {
        if (s->files->fds[i] >= 0) {
            close(s->files->fds[i]);
        }
    }
    if (s->files) {
        free(s->files->program);
    }
    free(s->files);
    s->files = NULL;
}

/* ------------------------------------------------------------------------ auxv */

struct stack {
    struct session *s;
    uint64_t at;
    unsigned word; /* bytes */
    uint8_t bytes[8];
};

/* The next word of the stack; false: it is not known. */
static bool next_word(struct stack *st, uint64_t *value)
{
    uint8_t known[8];
    bool ok = !position_memory(st->s, st->at, st->bytes, known, st->word);

    for (unsigned i = 0; ok && i < st->word; i++) {
        ok = known[i];
    }
    *value = guest_load(&st->s->guest, st->bytes, st->word);
    st->at += st->word;
    return ok;
}

/* argc, its arguments, 0, the environment, 0, pairs up to AT_NULL. */
static void read_vector(struct session *s, uint64_t sp, struct file_server *f)
{
    struct stack st = {s, sp, s->guest.word, {0}};
    uint64_t argc, value = 1;

    if (!next_word(&st, &argc) || argc > UINT32_MAX) {
        return;
    }
    st.at += (argc + 1) * st.word;
    while (value) {
        if (!next_word(&st, &value)) {
            return;
        }
    }
    for (size_t n = 0; n + 2 * st.word <= sizeof(f->auxv);) {
        uint64_t type;

        if (!next_word(&st, &type)) {
            return;
        }
        memcpy(f->auxv + n, st.bytes, st.word);
        if (!next_word(&st, &value)) {
            if (type != AT_NULL) {
                return;
            }
            memset(st.bytes, 0, sizeof(st.bytes)); /* which nobody reads */
        }
        memcpy(f->auxv + n + st.word, st.bytes, st.word);
        n += 2 * st.word;
        if (type == AT_NULL) {
            f->auxv_bytes = n;
            return;
        }
    }
}

/* Where argc is, at the first instruction; false: not known.  The stack of hppa grows upwards:
 * sp is after all that, and r24 is the address of the arguments. */
static bool find_argc(const struct session *s, uint64_t pc, uint64_t *at)
{
    const bool up = s->info.elf_machine == EM_PARISC;
    const int reg = up ? HPPA_R24 : gdb_regs_sp(s->regs);
    uint8_t bytes[GDB_REG_MAX];

    if (reg < 0 || !gdb_regs_get(s->regs, s->values, pc, (unsigned)reg, bytes)) {
        return false;
    }
    *at = guest_load(&s->guest, bytes, gdb_regs_size(s->regs, (unsigned)reg)) -
          (up ? s->guest.word : 0);
    return true;
}

/* Reads it where the process begins, or the one that a fork made it of: where a program begins. */
static void find_vector(struct session *s, struct file_server *f)
{
    const struct ctr_moment here = s->here.at;
    const struct ctr_thread *first = process_first(s);
    struct ctr_moment at, fork;
    uint64_t pc, argc;

    while (ctr_moment_fork(s->tr, first->process, &fork, &s->diag) == 1) {
        const uint32_t parent = ctr_trace_thread(s->tr, fork.thread)->process;

        if (parent >= first->process || !process_thread(s, parent)) {
            return;
        }
        first = process_thread(s, parent);
    }
    at = (struct ctr_moment){.thread = first->index};
    if (!(s->info.events & CTR_HAS_REG) || first->first ||
        ctr_state_at(s->tr, at.thread, 0, s->values, &pc, &at.time_ns, &s->diag) ||
        !find_argc(s, pc, &argc)) {
        return;
    }
    /* Memory there; nothing else of the session moves. */
    s->here.at = at;
    s->memory_there = false;
    read_vector(s, argc, f);
    s->here.at = here;
    s->memory_there = false;
}

/* ----------------------------------------------------------------- the program */

/* An entry of the vector; 0: it has none. */
static uint64_t vector_value(const struct session *s, const struct file_server *f,
                             uint64_t type)
{
    const unsigned word = s->guest.word;

    for (size_t n = 0; n + 2 * word <= f->auxv_bytes; n += 2 * word) {
        if (guest_load(&s->guest, f->auxv + n, word) == type) {
            return guest_load(&s->guest, f->auxv + n + word, word);
        }
    }
    return 0;
}

/* Mappings of a process where it begins, to find the program's. */
struct program_search {
    uint64_t entry;   /* of the program, 0: not known */
    const char *base; /* of its argv[0] ... */
    size_t base_len;  /* ... 0: not known */
    char *found;
    int rank;
};

/* The file with the program's entry is the one; else the one with its name; else any. */
static int rank_mapping(void *arg, const struct ctr_mapping *m)
{
    struct program_search *p = arg;
    const char *slash = strrchr(m->path, '/');
    const bool named = slash && p->base_len && strlen(slash + 1) == p->base_len &&
                       !memcmp(slash + 1, p->base, p->base_len);
    const int rank = p->entry >= m->start && p->entry < m->end ? 3 : named ? 2 : 1;

    if (m->path[0] == '/' && rank > p->rank) {
        free(p->found);
        p->found = strdup(m->path);
        p->rank = rank;
    }
    return 0;
}

static char *find_program(struct session *s, const struct file_server *f)
{
    const uint64_t time_ns = process_begin_ns(s);
    struct program_search search = {.entry = vector_value(s, f, AT_ENTRY)};
    struct comm_table *names = NULL;
    struct program program = {0};
    struct ctr_maps *maps;

    if (!comm_load(&names, s->tr, &s->diag)) {
        program = comm_program(names, s->here.process);
    }
    if (program.args.n) {
        struct ctr_str base = args_base(&program);

        search.base = base.p;
        search.base_len = base.n;
    }
    /* Those of the loader, before the first instruction. */
    if (!ctr_maps_load_to(&maps, s->tr, time_ns + 1, 0, &s->diag)) {
        ctr_maps_each(maps, s->here.process, time_ns, rank_mapping, &search);
        ctr_maps_free(maps);
    }
    comm_free(names);
    return search.found;
}

static struct file_server *know(struct session *s)
{
    struct file_server *f = server_of(s);

    if (f && !(f->known && f->of == s->here.process)) {
        free(f->program);
        f->auxv_bytes = 0;
        find_vector(s, f);
        f->program = find_program(s, f);
        f->of = s->here.process;
        f->known = true;
        if (!f->auxv_bytes) {
            f->auxv_bytes = libraries_auxv(s, f->program, f->auxv, sizeof(f->auxv));
        }
    }
    return f;
}

const char *files_program(struct session *s)
{
    const struct file_server *f = know(s);

    return f ? f->program : NULL;
}

const uint8_t *files_auxv(struct session *s, size_t *n)
{
    const struct file_server *f = know(s);

    *n = f ? f->auxv_bytes : 0;
    return *n ? f->auxv : NULL;
}

/* ----------------------------------------------------------------------- vFile */

/* gdb's numbers of errors (include/gdb/fileio.h). */
enum { GDB_EPERM = 1, GDB_ENOENT = 2, GDB_EBADF = 9, GDB_EINVAL = 22, GDB_ENFILE = 23 };

static bool refuse(struct session *s, int error)
{
    return textbuf_printf(&s->out, "F-1,%x", (unsigned)error);
}

/* How well a module's path fits the name that the guest has for it: all of it; its end, as
 * of qemu -L; the file name only, as where /lib is a link to another folder. */
static int rank_path(const char *path, const char *name)
{
    const char *end = name + strspn(name, "/");
    const char *slash = strrchr(end, '/');

    return !strcmp(path, name)                               ? 3
           : !*end                                           ? 0
           : sym_path_matches(path, end)                     ? 2
           : sym_path_matches(path, slash ? slash + 1 : end) ? 1
                                                             : 0;
}

/* The file of a module of the trace that the guest names so: a descriptor, or -1. */
static int open_module(const struct session *s, const char *name)
{
    const struct module **v, *found = NULL;
    uint32_t n = 0;
    int best = 0;

    v = s->places ? places_modules(s->places, &n) : NULL;
    for (uint32_t i = 0; v && i < n; i++) {
        const int rank = v[i]->file ? rank_path(v[i]->path, name) : 0;

        if (rank > best) {
            best = rank;
            found = v[i];
        }
    }
    free(v);
    return found ? symfile_descriptor(found->file) : -1;
}

/* "start-end rwxp offset dev inode path", as in /proc. */
static int put_mapping(void *arg, const struct ctr_mapping *m)
{
    return !textbuf_printf(
        arg,
        "%08" PRIx64 "-%08" PRIx64 " %c%c%cp %08" PRIx64 " %02x:%02x %" PRIu64 "%s%s\n",
        m->start, m->end, m->prot & 1 ? 'r' : '-', m->prot & 2 ? 'w' : '-',
        m->prot & 4 ? 'x' : '-', m->offset, (unsigned)(m->dev >> 8 & 0xff),
        (unsigned)(m->dev & 0xff), m->inode, *m->path ? " " : "", m->path);
}

/* Whether a name is /proc/PID/maps of a process that gdb has, or of one of its tasks'. */
static bool is_maps(const struct session *s, const char *name, uint32_t *process)
{
    int pid = 0, end = 0;

    if (sscanf(name, "/proc/%d/maps%n", &pid, &end) != 1 || !end) {
        sscanf(name, "/proc/%d/task/%*d/maps%n", &pid, &end);
    }
    return end && !name[end] && process_find(s, (uint32_t)pid, process);
}

/* The mappings where a process is, as a file; a descriptor or -1. */
static int open_maps(struct session *s, uint32_t process)
{
    const uint64_t time_ns = process_place(s, process)->at.time_ns;
    struct textbuf b = {0};
    struct ctr_maps *maps;
    int fd = -1;

    if (ctr_maps_load_to(&maps, s->tr, time_ns + 1, 0, &s->diag)) {
        return -1;
    }
    if (!ctr_maps_each(maps, process, time_ns, put_mapping, &b) && b.len) {
        fd = memfd_create("maps", MFD_CLOEXEC);
        if (fd >= 0 && write(fd, b.data, b.len) != (ssize_t)b.len) {
            close(fd);
            fd = -1;
        }
    }
    textbuf_fini(&b);
    ctr_maps_free(maps);
    return fd;
}

static bool open_file(struct session *s, const char *p)
{
    struct file_server *f = server_of(s);
    char name[4096];
    const char *end = strchr(p, ',');
    char *hex = end ? strndup(p, (size_t)(end - p)) : NULL;
    const long n = hex ? parse_hex_bytes(hex, (uint8_t *)name, sizeof(name) - 1) : -1;
    uint64_t flags;
    uint32_t process;
    int slot = 0;

    free(hex);
    if (!f) {
        return false;
    }
    if (n < 0 || (end++, !parse_hex(&end, &flags))) {
        return refuse(s, GDB_EINVAL);
    }
    name[n] = 0;
    while (slot < FILES_MOST && f->fds[slot] >= 0) {
        slot++;
    }
    if (flags || slot == FILES_MOST) {
        return refuse(s, flags ? GDB_EPERM : GDB_ENFILE);
    }
    f->fds[slot] =
        is_maps(s, name, &process) ? open_maps(s, process) : open_module(s, name);
    return f->fds[slot] < 0 ? refuse(s, GDB_ENOENT)
                            : textbuf_printf(&s->out, "F%x", (unsigned)slot + 3);
}

/* The descriptor of gdb's number; -1. */
static int *slot_of(struct session *s, const char **p)
{
    struct file_server *f = server_of(s);
    uint64_t number;

    return f && parse_hex(p, &number) && number >= 3 && number - 3 < FILES_MOST &&
                   f->fds[number - 3] >= 0
               ? &f->fds[number - 3]
               : NULL;
}

static bool put_attachment(struct session *s, const void *data, size_t n)
{
    char *p = textbuf_printf(&s->out, "F%zx;", n) ? textbuf_reserve(&s->out, n) : NULL;

    if (p) {
        textbuf_commit(&s->out, fmt_mem(p, data, n));
    }
    return p != NULL;
}

static bool read_file(struct session *s, const char *p)
{
    const int *fd = slot_of(s, &p);
    uint8_t data[READ_MOST];
    uint64_t n, offset;
    ssize_t got;

    if (!fd) {
        return refuse(s, GDB_EBADF);
    }
    if (*p++ != ',' || !parse_hex(&p, &n) || *p++ != ',' || !parse_hex(&p, &offset) ||
        offset > INT64_MAX) {
        return refuse(s, GDB_EINVAL);
    }
    got = pread(*fd, data, n < READ_MOST ? n : READ_MOST, (off_t)offset);
    return got < 0 ? refuse(s, GDB_EINVAL) : put_attachment(s, data, (size_t)got);
}

static void put_be(uint8_t *out, unsigned n, uint64_t value)
{
    for (unsigned i = 0; i < n; i++) {
        out[i] = (uint8_t)(value >> 8 * (n - 1 - i));
    }
}

/* struct stat of the protocol: big-endian. */
static bool stat_file(struct session *s, const char *p)
{
    const int *fd = slot_of(s, &p);
    uint8_t out[64] = {0};
    struct stat st;

    if (!fd || fstat(*fd, &st)) {
        return refuse(s, GDB_EBADF);
    }
    put_be(out + 8, 4, 0100444); /* a regular file that all may read */
    put_be(out + 12, 4, 1);
    put_be(out + 28, 8, (uint64_t)st.st_size);
    put_be(out + 36, 8, 4096);
    put_be(out + 44, 8, ((uint64_t)st.st_size + 511) / 512);
    put_be(out + 60, 4, (uint32_t)st.st_mtime);
    return put_attachment(s, out, sizeof(out));
}

static bool close_file(struct session *s, const char *p)
{
    int *fd = slot_of(s, &p);

    if (!fd) {
        return refuse(s, GDB_EBADF);
    }
    close(*fd);
    *fd = -1;
    return textbuf_printf(&s->out, "F0");
}

bool files_request(struct session *s, const char *packet, size_t n)
{
    static const struct {
        const char *name;
        bool (*answer)(struct session *s, const char *p);
    } requests[] = {
        {"open:", open_file},
        {"pread:", read_file},
        {"fstat:", stat_file},
        {"close:", close_file},
    };

    (void)n;
    if (!strncmp(packet, "setfs:", strlen("setfs:"))) {
        return textbuf_printf(&s->out, "F0");
    }
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        const size_t len = strlen(requests[i].name);

        if (!strncmp(packet, requests[i].name, len)) {
            return requests[i].answer(s, packet + len);
        }
    }
    return true;
}
