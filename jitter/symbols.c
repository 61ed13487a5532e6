/* SPDX-License-Identifier: MIT */
/*
 * Finds functions in a file by its symbol tables (.symtab and .dynsym), as offsets in the
 * file, because the host describes an address by file and offset.
 *
 * This runs inside the recorded process, whose other threads may open files at the same
 * time and must get the same descriptor numbers as without recording.  So a short-lived
 * child that shares memory but not descriptors opens and maps the file; the mapping
 * stays.  This also works when the process cannot open any more files.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* From elf.h; older versions lack it. */
#define PPC64_ABI_MASK 3u
#define PPC64_LOCAL_ENTRY(other) ((1u << ((other) >> 5 & 7) >> 2) << 2)

struct mapped {
    const char *path;
    void *data; /* MAP_FAILED: could not be read */
    size_t size;
};

static int map_file(void *arg)
{
    struct mapped *m = arg;
    int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    m->data = MAP_FAILED;
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        m->size = (size_t)st.st_size;
        m->data = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    return 0;
}

/* Makes room for a descriptor if there is none left; closes only the child's copy. */
static int child(void *arg)
{
    close(STDIN_FILENO);
    return map_file(arg);
}

static void map_by_child(struct mapped *m)
{
    enum { STACK_BYTES = 65536 };
    char *stack = malloc(STACK_BYTES);
    sigset_t all, old;
    pid_t pid;

    if (!stack) {
        abort();
    }
    m->data = MAP_FAILED;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    /* Its end sends no signal to the guest, and no signal runs the guest's handlers in
     * it. */
    pid = clone(child, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, m);
    if (pid < 0) {
        map_file(m);
    } else {
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    free(stack);
}

/* ---- the symbols of one table ---- */

struct table {
    Elf *elf;
    GElf_Ehdr header;
    size_t nr_segments;
    const char *path;
    /* Starts of functions, ascending: the end of a function without a size. */
    uint64_t *starts;
    size_t nr_starts, cap_starts;
};

/* Offset in the file of an address of code. */
static bool offset_of(const struct table *t, uint64_t addr, uint64_t *offset)
{
    for (size_t i = 0; i < t->nr_segments; i++) {
        GElf_Phdr p;

        if (gelf_getphdr(t->elf, (int)i, &p) && p.p_type == PT_LOAD &&
            (p.p_flags & PF_X) && addr >= p.p_vaddr && addr - p.p_vaddr < p.p_filesz) {
            *offset = addr - p.p_vaddr + p.p_offset;
            return true;
        }
    }
    return false;
}

static bool is_function(const struct table *t, GElf_Sym *sym)
{
    int type = GELF_ST_TYPE(sym->st_info);
    Elf_Scn *scn;
    GElf_Shdr header;

    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE ||
        (type != STT_FUNC &&
         (type != STT_NOTYPE || GELF_ST_BIND(sym->st_info) == STB_LOCAL))) {
        return false;
    }
    scn = elf_getscn(t->elf, sym->st_shndx);
    if (!scn || !gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR)) {
        return false;
    }
    if (t->header.e_machine == EM_ARM || t->header.e_machine == EM_MIPS) {
        sym->st_value &= ~(GElf_Addr)1; /* the lowest bit is the mode */
    }
    return true;
}

/* 0: no, 1: it is the function, 2: its cold part, which the compiler moved elsewhere. */
static int name_matches(const char *pattern, const char *name)
{
    char own[1024];
    size_t n = strcspn(name, "@"); /* a version follows */
    char *cold;

    if (n >= sizeof(own)) {
        return 0;
    }
    memcpy(own, name, n);
    own[n] = '\0';
    if (!fnmatch(pattern, own, 0)) {
        return 1;
    }
    cold = strstr(own, ".cold");
    if (!cold || cold == own || (cold[5] && cold[5] != '.')) {
        return 0;
    }
    *cold = '\0';
    return fnmatch(pattern, own, 0) ? 0 : 2;
}

static uint64_t end_of(const struct table *t, const GElf_Sym *sym)
{
    uint64_t end = sym->st_value + sym->st_size;
    GElf_Shdr header;
    size_t low = 0, high = t->nr_starts;

    if (sym->st_size) {
        return end;
    }
    if (gelf_getshdr(elf_getscn(t->elf, sym->st_shndx), &header)) {
        end = header.sh_addr + header.sh_size;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->starts[mid] <= sym->st_value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < t->nr_starts && t->starts[low] < end ? t->starts[low] : end;
}

static void add_entry(struct symbols *s, uint64_t offset, int triggers)
{
    s->entries =
        filter_grow(s->entries, s->nr_entries, &s->cap_entries, sizeof(*s->entries));
    s->entries[s->nr_entries++] = (struct entry){offset, triggers};
}

static void add_symbol(struct symbols *s, const struct table *t, const struct function *f,
                       const GElf_Sym *sym, bool whole)
{
    uint64_t start, second = 0, bytes = end_of(t, sym) - sym->st_value;

    if (!offset_of(t, sym->st_value, &start)) {
        return;
    }
    if (f->member) {
        spans_add(f->negated ? &s->excluded : &s->included, start, start + bytes);
    }
    if (!f->triggers || !whole) {
        return;
    }
    add_entry(s, start, f->triggers);
    if (t->header.e_machine == EM_PPC64 && (t->header.e_flags & PPC64_ABI_MASK) == 2) {
        second = PPC64_LOCAL_ENTRY(sym->st_other);
    }
    if (second && second < bytes) {
        add_entry(s, start + second, f->triggers);
    }
}

/* Calls add_symbol for each function of the file, or collects their starts. */
static void walk(struct table *t, struct symbols *s, const struct filter_args *args)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr header;

    while ((scn = elf_nextscn(t->elf, scn))) {
        Elf_Data *data;
        size_t n;

        if (!gelf_getshdr(scn, &header) ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            !(data = elf_getdata(scn, NULL)) || !header.sh_entsize) {
            continue;
        }
        n = data->d_size / gelf_fsize(t->elf, ELF_T_SYM, 1, EV_CURRENT);
        for (size_t i = 0; i < n; i++) {
            GElf_Sym sym;
            const char *name;

            if (!gelf_getsym(data, (int)i, &sym) || !is_function(t, &sym)) {
                continue;
            }
            if (!s) {
                t->starts = filter_grow(t->starts, t->nr_starts, &t->cap_starts,
                                        sizeof(*t->starts));
                t->starts[t->nr_starts++] = sym.st_value;
                continue;
            }
            name = elf_strptr(t->elf, header.sh_link, sym.st_name);
            for (size_t k = 0; name && k < args->nr_functions; k++) {
                const struct function *f = &args->functions[k];
                int match = f->module.text && !filter_module_matches(&f->module, t->path)
                                ? 0
                                : name_matches(f->name, name);

                if (match) {
                    add_symbol(s, t, f, &sym, match == 1);
                }
            }
        }
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int by_offset(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void symbols_load(struct symbols *s, const struct filter_args *args, const char *path)
{
    struct mapped file = {.path = path};
    struct table t = {.path = path};
    bool any = false;

    *s = (struct symbols){0};
    for (size_t i = 0; i < args->nr_functions && !any; i++) {
        const struct pattern *module = &args->functions[i].module;

        any = !module->text || filter_module_matches(module, path);
    }
    if (!any) {
        return;
    }
    map_by_child(&file);
    if (file.data == MAP_FAILED) {
        return;
    }
    elf_version(EV_CURRENT);
    t.elf = elf_memory(file.data, file.size);
    if (t.elf && elf_kind(t.elf) == ELF_K_ELF && gelf_getehdr(t.elf, &t.header) &&
        elf_getphdrnum(t.elf, &t.nr_segments) == 0) {
        walk(&t, NULL, args);
        if (t.nr_starts) {
            qsort(t.starts, t.nr_starts, sizeof(*t.starts), by_number);
        }
        walk(&t, s, args);
    }
    elf_end(t.elf);
    free(t.starts);
    munmap(file.data, file.size);
    spans_finish(&s->included);
    spans_finish(&s->excluded);
    if (s->nr_entries) {
        qsort(s->entries, s->nr_entries, sizeof(*s->entries), by_offset);
    }
}

/* The first entry that is not before offset. */
static size_t find_entry(const struct symbols *s, uint64_t offset)
{
    size_t low = 0, high = s->nr_entries;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->entries[mid].offset < offset) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

int symbols_triggers(const struct symbols *s, uint64_t offset)
{
    int triggers = 0;

    for (size_t i = find_entry(s, offset);
         i < s->nr_entries && s->entries[i].offset == offset; i++) {
        triggers |= s->entries[i].triggers;
    }
    return triggers;
}

struct span symbols_gap(const struct symbols *s, uint64_t offset)
{
    size_t i = find_entry(s, offset);

    return (struct span){
        .start = i ? s->entries[i - 1].offset + 1 : 0,
        .end = i < s->nr_entries ? s->entries[i].offset : UINT64_MAX,
    };
}

void symbols_free(struct symbols *s)
{
    spans_free(&s->included);
    spans_free(&s->excluded);
    free(s->entries);
    *s = (struct symbols){0};
}
