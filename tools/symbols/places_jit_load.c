/* SPDX-License-Identifier: MIT */
/*
 * Finds the perf maps and jitdump files of a trace's processes and makes modules of them:
 * /tmp/perf-PID.map, as perf does, and the jitdump file that the process mapped so that it
 * can be found; or what --perf-map names.
 *
 * Only processes with executable memory of no file have such code, and only their files
 * are looked for.
 */
#include "places_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/options.h"
#include "symbols/jit_kernel.h"

#define NO_PROCESS UINT32_MAX
#define NS UINT64_C(1000000000)
#define MAX_LAYERS 8u

/* ------------------------------------------------------ processes and numbers */

struct pid_entry {
    int32_t pid;
    uint32_t process;
};

static int by_pid(const void *a, const void *b)
{
    const struct pid_entry *x = a, *y = b;

    return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1)
                            : (x->process > y->process) - (x->process < y->process);
}

/* The number of entries before a process number and index. */
static uint32_t entries_before(const struct pid_entry *v, uint32_t n, int32_t pid,
                               uint32_t process)
{
    const struct pid_entry key = {pid, process};
    uint32_t low = 0;

    while (low < n) {
        uint32_t mid = low + (n - low) / 2;
        if (by_pid(&v[mid], &key) < 0) {
            low = mid + 1;
        } else {
            n = mid;
        }
    }
    return low;
}

/* The last process with a number before process i, or NO_PROCESS. */
static uint32_t last_before(const struct pid_entry *v, uint32_t n, int32_t pid,
                            uint32_t i)
{
    uint32_t k = entries_before(v, n, pid, i);

    return k && v[k - 1].pid == pid ? v[k - 1].process : NO_PROCESS;
}

bool places_jit_init(struct places *p, const struct ctr_trace *tr)
{
    const struct ctr_process *process;
    struct pid_entry *v;
    struct ctr_info info;
    uint32_t n = 0;

    ctr_trace_info(tr, &info);
    p->jit = calloc((size_t)info.processes + 1, sizeof(*p->jit));
    v = malloc(((size_t)info.processes + 1) * sizeof(*v));
    if (!p->jit || !v) {
        free(v);
        return false;
    }
    for (; n < info.processes && (process = ctr_trace_process(tr, n)) != NULL; n++) {
        v[n] = (struct pid_entry){process->pid, n};
        p->jit[n].pid = process->pid;
    }
    p->nr_jit = n;
    if (n) {
        qsort(v, n, sizeof(*v), by_pid);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t same = last_before(v, n, p->jit[i].pid, i);
        const struct ctr_process *before =
            same == NO_PROCESS ? NULL : ctr_trace_process(tr, same);
        bool executed = before && before->end_reason == CTR_END_EXEC;

        p->jit[i].parent =
            executed ? NO_PROCESS : last_before(v, n, ctr_trace_process(tr, i)->ppid, i);
        p->jit[i].next = NO_PROCESS;
        if (same != NO_PROCESS) {
            p->jit[same].next = i;
        }
    }
    free(v);
    return true;
}

void places_jit_fini(struct places *p)
{
    for (uint32_t i = 0; i < p->nr_jit; i++) {
        free(p->jit[i].mods);
    }
    free(p->jit);
}

void places_jit_note(struct places *p, const struct ctr_mapping *m)
{
    struct jit_process *j = m->process < p->nr_jit ? &p->jit[m->process] : NULL;

    if (!j || !(m->prot & 4)) {
        return;
    }
    if (path_is_jitdump(m->path)) {
        j->dump = j->dump ? j->dump : m->path;
    } else if (!places_is_module(m)) {
        j->made = true;
    }
}

/* --------------------------------------------------------------------- loading */

struct loader {
    struct places *p;
    const struct modset_options *opt;
    struct jit_trust trust;
    uint64_t start_ns, end_ns; /* of the recording, in the trace's time */
    bool used;                 /* a file was found */
    bool kallsyms;             /* files are of --kallsyms, for this trace */
    struct ctr_trace *tr;
};

__attribute__((format(printf, 2, 3))) static void remark(const struct loader *l,
                                                         const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!l->opt->quiet) {
        tool_error(l->opt->prog, "%s", text);
    }
}

static int no_memory(const struct loader *l)
{
    tool_error(l->opt->prog, "%s: no memory", l->p->target.path);
    return TOOL_FAILED;
}

enum format { FORMAT_LINES, FORMAT_DUMP, FORMAT_KERNEL };

static void remark_damage(const struct loader *l, const char *path,
                          const struct jit_code *c, enum format format, bool cut)
{
    const bool dump = format == FORMAT_DUMP;

    if (cut && !(c->nr_bad && format == FORMAT_KERNEL)) {
        remark(l, "%s: larger than %u MiB; only its begin is used", path,
               (unsigned)(JIT_MAX_BYTES >> 20));
    } else if (c->nr_bad && format == FORMAT_KERNEL) {
        remark(l, "%s: %s", path, c->bad_why);
    } else if (c->nr_bad && dump) {
        remark(l, "%s: damaged at byte %" PRIu64 " (%s); %s is used", path, c->bad_at,
               c->bad_why,
               c->bad_end && c->nr_bad == 1 ? "what is before it" : "the undamaged part");
    } else if (c->nr_bad) {
        remark(l, "%s: line %" PRIu64 " is wrong (%s)%s; the other lines are used", path,
               c->bad_at, c->bad_why, c->nr_bad > 1 ? ", and so are others" : "");
    }
}

static struct jit_mod *new_jit_mod(const struct jit_code *c,
                                   const struct jit_layer *layer)
{
    struct jit_mod *j = calloc(1, sizeof(*j));

    if (j) {
        j->bytes = calloc(layer->n + 1, sizeof(*j->bytes));
        j->time_ns = c->timed ? calloc(layer->n + 1, sizeof(*j->time_ns)) : NULL;
    }
    if (!j || !j->bytes || (c->timed && !j->time_ns)) {
        jit_mod_free(j);
        return NULL;
    }
    for (size_t i = 0; i < layer->n; i++) {
        const struct jit_function *f = &c->functions[layer->v[i].function];
        j->bytes[i] = f->bytes ? f->bytes + (layer->v[i].addr - f->addr) : NULL;
        if (j->time_ns) {
            j->time_ns[i] = f->time_ns;
        }
    }
    return j;
}

static bool add_module(struct loader *l, struct jit_process *j, const char *path,
                       const struct jit_code *c, const struct jit_layer *layer)
{
    const struct symfile_info like = {.machine = l->p->target.machine,
                                      .big_endian = l->p->target.big_endian,
                                      .addr_bits = l->p->target.addr_bits};
    struct jit_mod *jit = new_jit_mod(c, layer);
    struct symfile *file = NULL;
    struct mod *m = NULL;

    if (jit && jit_symfile(&file, path, &like, c, layer) &&
        array_reserve(&j->mods, &j->cap_mods, j->nr_mods + (size_t)1, sizeof(*j->mods))) {
        m = modset_add_generated(l->p->set, path, file);
    }
    if (!m) {
        symfile_close(file);
        jit_mod_free(jit);
        return false;
    }
    m->jit = jit;
    j->mods[j->nr_mods++] = m;
    return true;
}

/* Makes a module of each layer; older layers are named FILE~1, FILE~2 ... */
static bool add_modules(struct loader *l, struct jit_process *j, const char *path,
                        const struct jit_code *c)
{
    struct jit_layer layers[MAX_LAYERS];
    size_t size = strlen(path) + 12;
    char *name = malloc(size);
    unsigned n = 0;
    bool ok = name && jit_layers(c, MAX_LAYERS, layers, &n);

    for (unsigned i = 0; ok && i < n; i++) {
        snprintf(name, size, "%s~%u", path, i);
        ok = add_module(l, j, i ? name : path, c, &layers[i]);
    }
    jit_layers_free(layers, n);
    free(name);
    return ok;
}

static bool is_of_trace(const struct loader *l, const struct jit_kernel *k,
                        uint64_t *slide)
{
    struct slide_fit fit;

    if (!slide_find(l->tr, &k->code, slide)) {
        return false;
    }
    fit = slide_fit(l->tr, &k->code, *slide);
    return slide_fits(&fit) || l->opt->force;
}

/* Names by a kernel's image: of functions where the trace has them. */
static bool parse_kernel(const struct loader *l, struct jit_code *c,
                         const struct jit_file *f)
{
    struct jit_kernel k;
    uint64_t slide = 0;
    size_t n = 0;
    bool ok = jit_parse_kernel(c, &k, f->p, f->n);

    if (l->opt->slide) {
        slide = *l->opt->slide;
    } else if (ok && c->nr_functions && !is_of_trace(l, &k, &slide)) {
        c->nr_bad = 0; /* says more than what is wrong in it */
        jit_bad(c, 0, "it is not the kernel of the trace");
        c->nr_functions = 0;
    }
    for (size_t i = 0; i < c->nr_functions; i++) {
        struct jit_function moved = c->functions[i];
        moved.addr += slide;
        moved.end += slide;
        if (moved.end > moved.addr) {
            c->functions[n++] = moved;
        }
    }
    c->nr_functions = n;
    if (n && k.code.n && !l->p->has_kernel) {
        l->p->kernel = (struct place_kernel){k.code.v[0].vaddr, slide};
        l->p->has_kernel = true;
    }
    jit_kernel_fini(&k);
    return ok;
}

/* Of /proc/modules or /proc/kallsyms. */
static bool parse_copy(struct jit_code *c, const struct jit_file *f)
{
    return jit_is_modules(f->p, f->n) ? jit_parse_modules(c, f->p, f->n)
                                      : jit_parse_kallsyms(c, f->p, f->n);
}

static int use_file(struct loader *l, struct jit_process *j, const char *path,
                    struct jit_file *f)
{
    bool dump = !l->kallsyms && jit_is_dump(f->p, f->n);
    uint32_t first = j->nr_mods;
    struct jit_code c = {0};
    bool kernel = l->kallsyms && jit_is_kernel(f->p, f->n);
    bool ok = kernel        ? parse_kernel(l, &c, f)
              : l->kallsyms ? parse_copy(&c, f)
              : dump        ? jit_parse_dump(&c, f->p, f->n)
                            : jit_parse_perf_map(&c, f->p, f->n);

    c.timed = c.timed && c.begun_ns >= l->start_ns && c.begun_ns <= l->end_ns;
    ok = ok && add_modules(l, j, path, &c);
    if (ok) {
        remark_damage(l, path, &c,
                      kernel ? FORMAT_KERNEL
                      : dump ? FORMAT_DUMP
                             : FORMAT_LINES,
                      f->cut);
    }
    jit_code_fini(&c);
    if (dump && j->nr_mods > first) { /* functions have their bytes there */
        j->mods[first]->jit->file = f->p;
        f->p = NULL;
    }
    free(f->p);
    return ok ? TOOL_OK : no_memory(l);
}

/* missing_ok: no remark if there is no such file. */
static int try_file(struct loader *l, struct jit_process *j, const char *path,
                    bool missing_ok)
{
    struct jit_file f;
    char why[256] = "";

    switch (jit_file_read(&f, path, &l->trust, why, sizeof(why))) {
    case JIT_READ:
        l->used = true;
        return use_file(l, j, path, &f);
    case JIT_NOMEM:
        return no_memory(l);
    case JIT_MISSING:
        if (l->kallsyms) {
            remark(l, "%s: %s", path, why);
        } else if (!missing_ok && !l->opt->missing_ok) {
            remark(l, "%s: %s; it may name code that process %d made", path, why,
                   (int)j->pid);
        }
        break;
    case JIT_REFUSED:
        if (l->kallsyms) {
            remark(l, "%s: %s", path, why);
            break;
        }
        remark(l, "%s: %s; it is not used to name the code that process %d made%s", path,
               why, (int)j->pid, l->trust.any ? "" : " (--perf-map uses it)");
        break;
    }
    return TOOL_OK;
}

/* FOLDER/PREFIXpidSUFFIX, with the sysroot before it if there is one. */
static int try_named(struct loader *l, struct jit_process *j, const char *root,
                     const char *folder, const char *prefix, const char *suffix)
{
    char *path;
    int status;

    if (asprintf(&path, "%s%s/%s%d%s", root, folder, prefix, (int)j->pid, suffix) < 0) {
        return no_memory(l);
    }
    status = try_file(l, j, path, true);
    free(path);
    return status;
}

/* ------------------------------------------------------------- where files are */

/* Whether a later program with the same number made code: then files of that name are
 * its. */
static bool is_replaced(const struct places *p, const struct jit_process *j)
{
    while (j->next != NO_PROCESS && !p->jit[j->next].made) {
        j = &p->jit[j->next];
    }
    return j->next != NO_PROCESS;
}

static int load_found(struct loader *l, struct jit_process *j)
{
    const char *root = l->opt->sysroot ? l->opt->sysroot : "";
    char *path;
    int status = TOOL_OK;

    if (j->dump) {
        if (asprintf(&path, "%s%s", root, j->dump) < 0) {
            return no_memory(l);
        }
        status = try_file(l, j, path, false);
        free(path);
    }
    return status || !j->made || is_replaced(l->p, j)
               ? status
               : try_named(l, j, root, "/tmp", "perf-", ".map");
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The process number in perf-PID.map or jit-PID.dump, or -1. */
static long pid_of_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t skip = !strncmp(name, "perf-", 5) ? 5 : !strncmp(name, "jit-", 4) ? 4 : 0;
    char *end;
    long pid = skip ? strtol(name + skip, &end, 10) : -1;

    return pid > 0 && (!strcmp(end, ".map") || !strcmp(end, ".dump")) ? pid : -1;
}

/* The process that a file is for: that with the number in its name, or the only one. */
static struct jit_process *process_of(const struct places *p, const char *path)
{
    struct jit_process *only = NULL, *named = NULL;
    long pid = pid_of_name(path);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->nr_jit; i++) {
        struct jit_process *j = &p->jit[i];
        if (j->made || j->dump) {
            named = j->pid == pid ? j : named;
            only = j;
            n++;
        }
    }
    return named ? named : n == 1 ? only : NULL;
}

static int load_named_file(struct loader *l, const char *path)
{
    struct jit_process *j = process_of(l->p, path);

    if (j) {
        return try_file(l, j, path, false);
    }
    remark(l,
           "--perf-map=%s: several processes of %s made code: name the file perf-PID.map "
           "or jit-PID.dump",
           path, l->p->target.path);
    l->used = true;
    return TOOL_OK;
}

static int load_given(struct loader *l)
{
    struct places *p = l->p;
    int status = TOOL_OK;

    for (unsigned k = 0; !status && k < l->opt->nr_perf_maps; k++) {
        const char *path = l->opt->perf_maps[k];
        if (!is_folder(path)) {
            status = load_named_file(l, path);
            continue;
        }
        l->used = false;
        for (uint32_t i = 0; !status && i < p->nr_jit; i++) {
            struct jit_process *j = &p->jit[i];
            if ((j->made || j->dump) && !is_replaced(p, j)) {
                status = try_named(l, j, "", path, "jit-", ".dump");
                status = status ? status : try_named(l, j, "", path, "perf-", ".map");
            }
        }
        if (!status && !l->used) {
            remark(l,
                   "--perf-map=%s: no perf-PID.map or jit-PID.dump there of a process "
                   "that made code",
                   path);
        }
    }
    return status;
}

static void init_loader(struct loader *l, struct places *p, const struct ctr_trace *tr)
{
    struct ctr_info info;
    bool whole;

    ctr_trace_info(tr, &info);
    whole = info.state == CTR_COMPLETE;
    *l = (struct loader){.p = p, .opt = &p->set->opt};
    l->start_ns = info.start_ns > NS ? info.start_ns - NS : 0;
    l->end_ns = whole ? info.end_ns + NS : UINT64_MAX;
    l->trust.any = l->opt->nr_perf_maps != 0 || !info.start_realtime_ns;
    l->trust.from_ns = info.start_realtime_ns - NS;
    l->trust.to_ns = whole && info.end_ns >= info.start_ns
                         ? info.start_realtime_ns + (info.end_ns - info.start_ns) + NS
                         : UINT64_MAX;
}

int places_jit_load(struct places *p, const struct ctr_trace *tr)
{
    struct loader l;
    bool any = false;
    int status = TOOL_OK;

    init_loader(&l, p, tr);
    for (uint32_t i = 0; i < p->nr_jit; i++) {
        any |= p->jit[i].made || p->jit[i].dump;
    }
    if (l.opt->no_generated || (l.opt->elfs_only && !l.opt->nr_perf_maps)) {
        return TOOL_OK;
    }
    if (l.opt->nr_perf_maps && !any) {
        remark(&l, "--perf-map: no process of %s ran code outside of files",
               p->target.path);
    } else if (l.opt->nr_perf_maps) {
        return load_given(&l);
    }
    for (uint32_t i = 0; any && !status && i < p->nr_jit; i++) {
        if (p->jit[i].made || p->jit[i].dump) {
            status = load_found(&l, &p->jit[i]);
        }
    }
    return status;
}

/* --------------------------------------------------------- a machine's kernel */

/* Adds the functions of a module, but where a file is: that knows more. */
static bool add_range(struct places *p, struct mod *m, const struct range *files,
                      size_t n)
{
    const struct sym_function *v;
    size_t nr = symfile_functions(m->pub.file, &v);
    struct range r = {.mod = m, .fixed = true};
    bool ok = true;

    if (!nr) {
        return true;
    }
    r.start = v[0].addr;
    for (size_t i = 0; ok && i < n; i++) {
        r.offset = r.start;
        r.end = files[i].start < v[nr - 1].end ? files[i].start : v[nr - 1].end;
        ok = r.end <= r.start || ranges_add(&p->ranges, &r);
        r.start = files[i].end > r.start ? files[i].end : r.start;
    }
    r.offset = r.start;
    r.end = v[nr - 1].end;
    return ok && (r.end <= r.start || ranges_add(&p->ranges, &r));
}

static bool add_kernel_ranges(struct places *p)
{
    const struct jit_process *j = p->jit;
    size_t n = ranges_sort(&p->ranges);
    struct range *files = calloc(n + 1, sizeof(*files));
    bool ok = files != NULL;

    if (ok && n) {
        memcpy(files, p->ranges.v, n * sizeof(*files));
    }
    for (uint32_t i = 0; ok && i < j->nr_mods; i++) {
        ok = add_range(p, j->mods[i], files, n);
    }
    free(files);
    return ok;
}

int places_kallsyms_load(struct places *p, struct ctr_trace *tr)
{
    const struct modset_options *opt = &p->set->opt;
    struct jit_process *j = p->jit;
    struct ctr_info info;
    struct loader l;
    int status = TOOL_OK;

    if (!opt->nr_kallsyms) {
        return TOOL_OK;
    }
    ctr_trace_info(tr, &info);
    init_loader(&l, p, tr);
    l.kallsyms = l.trust.any = true;
    l.tr = tr;
    if (!info.machine || !p->nr_jit) {
        remark(&l, "--kallsyms: %s is not the trace of a machine", p->target.path);
        return TOOL_OK;
    }
    for (unsigned i = 0; !status && i < opt->nr_kallsyms; i++) {
        status = try_file(&l, j, opt->kallsyms[i], false);
    }
    return status || add_kernel_ranges(p) ? status : no_memory(&l);
}

/* ------------------------------------------------------- when they are needed */

static int find_dump(void *arg, const struct ctr_mapping *m)
{
    bool *found = arg;

    *found |= m->prot & 4 && path_is_jitdump(m->path);
    return *found;
}

bool places_jit_wanted(const struct places *p, uint32_t process,
                       const struct ctr_maps *maps)
{
    const struct modset_options *opt = &p->set->opt;
    bool found = opt->nr_perf_maps != 0;
    char *path;

    if (opt->no_generated || (opt->elfs_only && !found)) {
        return false;
    }
    for (unsigned i = 0; !found && process < p->nr_jit && i < 64; i++) {
        if (maps) {
            ctr_maps_history(maps, process, find_dump, &found);
        }
        if (asprintf(&path, "%s/tmp/perf-%d.map", opt->sysroot ? opt->sysroot : "",
                     (int)p->jit[process].pid) >= 0) {
            found |= access(path, F_OK) == 0;
            free(path);
        }
        process = p->jit[process].parent;
    }
    return found;
}
