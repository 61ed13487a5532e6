/*
 * Execution tracing into shared memory: libraries that choose what is recorded
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cannoli/jitter.h is the interface.  The recorder lists the libraries in the
 * shared memory, where the list may change while the program runs; others are
 * on QEMU's own command line and stay.  A library that cannot be loaded ends
 * QEMU if the guest does not run yet; later it is left out.  Either way the
 * recorder gets the error and shows it to the user.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "exec/page-protection.h"
#include "exec/translation-block.h"
#include "jitter.h"
#include <dlfcn.h>

/* The exit status of cannoli-record when it cannot do its work. */
#define EXIT_CANNOT 125

bool cannoli_choosing;
bool cannoli_windows;
bool cannoli_starts_closed;

CannoliLibrary cannoli_libraries[CANNOLI_MAX_LIBRARIES];
int cannoli_nr_libraries;

static GPtrArray *own_lines; /* of QEMU's command line */
static uint16_t next_number;
__thread const CannoliLibrary *cannoli_inside;
static struct cannoli_host host;
static char *load_error; /* error of `load' */

/* ---- what a library may call ---- */

static int host_module(void *context, uint64_t addr, struct cannoli_module *m)
{
    return cannoli_module_at(addr, m);
}

static size_t host_read(void *context, uint64_t addr, void *to, size_t n)
{
    return cannoli_read_guest(to, addr, n);
}

static size_t host_disas(void *context, char *text, size_t size)
{
    g_autofree char *line =
        cannoli_disas(context, cannoli_code_is_big_endian());

    if (!line) {
        return 0;
    }
    if (size) {
        pstrcpy(text, size, line);
    }
    return strlen(line);
}

static void host_starts_closed(void)
{
    cannoli_starts_closed = true;
}

static int host_per_vcpu(void)
{
    return cannoli_split_vcpus();
}

static void G_GNUC_PRINTF(1, 2) host_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    g_free(load_error);
    load_error = g_strdup_vprintf(format, ap);
    va_end(ap);
}

static void make_host(void)
{
    host = (struct cannoli_host){
        .version = CANNOLI_JITTER_VERSION,
        .bytes = sizeof(host),
        .target = TARGET_NAME,
        .program = cannoli_program_path(),
        .elf_machine = cannoli_elf_machine,
        .big_endian = TARGET_BIG_ENDIAN,
        .addr_bytes = CANNOLI_ADDR_BYTES,
        .events = cannoli_ctl->events,
        .module = host_module,
        .read = host_read,
        .disas = host_disas,
        .tag_insn = cannoli_tag_insn,
        .tag_block = cannoli_tag_block,
        .starts_closed = host_starts_closed,
        .error = host_error,
        .per_vcpu = host_per_vcpu,
    };
}

/* ---- where a process ends ---- */

/* The code of a library has ended this process: report which one, and how. */
void cannoli_library_ends(int how)
{
    const CannoliLibrary *lib = cannoli_inside;
    CannoliThread *t =
        lib && current_cpu ? cannoli_cpu(current_cpu)->thread : NULL;

    if (t) {
        qatomic_set(&t->pipe->inside, lib->entry);
        qatomic_set(&t->pipe->inside_end, how);
    }
}

/* QEMU does not handle SIGABRT: the guest's is another host signal. */
static void aborted(int sig, siginfo_t *info, void *context)
{
    if (info->si_pid == getpid()) {
        cannoli_library_ends(sig);
    }
    /* as without this handler */
    raise(sig);
}

static void exited(void)
{
    cannoli_library_ends(MEMPIPE_INSIDE_EXIT);
}

/* Other signals are QEMU's own, see die_from_signal. */
static void look_out_for_ends(void)
{
    struct sigaction act = {
        .sa_sigaction = aborted,
        .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER,
    }, old;
    static bool done;

    if (done) {
        return;
    }
    done = true;
    atexit(exited);
    if (sigaction(SIGABRT, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        sigaction(SIGABRT, &act, NULL);
    }
}

void cannoli_unblock_crashes(sigset_t *old)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < ARRAY_SIZE(crashes); i++) {
        sigaddset(&set, crashes[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, old);
}

/* The entry of a library in the list that the recorder reads. */
static uint32_t find_entry(const char *path)
{
    struct mempipe_shared *shared = cannoli_shared();
    size_t len = strlen(path);

    if (len >= MEMPIPE_PATH_BYTES) {
        path += len - (MEMPIPE_PATH_BYTES - 1);
    }
    for (uint32_t i = 0; i < MEMPIPE_LIBRARIES; i++) {
        struct mempipe_library *l = &shared->libraries[i];

        if (qatomic_cmpxchg(&l->state, 0, 1) == 0) {
            pstrcpy(l->path, sizeof(l->path), path);
            /* Pairs with loads here and in the recorder. */
            qatomic_store_release(&l->state, 2);
            return i + 1;
        }
        if (qatomic_load_acquire(&l->state) == 2 &&
            !strncmp(l->path, path, sizeof(l->path))) {
            return i + 1;
        }
    }
    return MEMPIPE_LIBRARIES + 1;
}

/* ---- loading ---- */

/* The file's name at the beginning of a line, in which commas are doubled. */
static char *line_path(const char *line, const char **args)
{
    GString *path = g_string_new(NULL);

    while (*line && (*line != ',' || line[1] == ',')) {
        line += *line == ',';
        g_string_append_c(path, *line++);
    }
    *args = *line ? line + 1 : line;
    return g_string_free(path, false);
}

/* Load what a line says; returns why that is not possible, or NULL. */
static char *load_apart(const char *line)
{
    CannoliLibrary *lib = &cannoli_libraries[cannoli_nr_libraries];
    g_autofree char *full = NULL;
    g_autofree char *path = NULL;
    const struct cannoli_jitter *j;
    const char *args;
    void *handle;
    char *why = NULL;
    int ret;

    if (cannoli_nr_libraries == CANNOLI_MAX_LIBRARIES) {
        return g_strdup_printf("more than %d libraries", CANNOLI_MAX_LIBRARIES);
    }
    path = line_path(line, &args);
    full = realpath(path, NULL);
    look_out_for_ends();
    *lib = (CannoliLibrary){ .entry = find_entry(full ? full : path) };
    cannoli_set_inside(lib);
    handle = dlopen(full ? full : path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return g_strdup(dlerror());
    }
    j = dlsym(handle, CANNOLI_JITTER_SYMBOL);
    if (!j) {
        why = g_strdup_printf("%s is no jitter library: it has no '%s'", path,
                              CANNOLI_JITTER_SYMBOL);
    } else if (!cannoli_jitter_bytes(j->version) ||
               j->bytes != cannoli_jitter_bytes(j->version)) {
        why = g_strdup_printf("%s was made for version %u of cannoli/jitter.h, "
                              "this is version %u",
                              path, j->version, CANNOLI_JITTER_VERSION);
    }
    if (why) {
        dlclose(handle);
        return why;
    }
    *lib = (CannoliLibrary){
        .handle = handle,
        .number = next_number,
        .stays = true,
        .entry = lib->entry,
    };
    /* An older library has fewer callbacks; the others stay NULL. */
    memcpy(&lib->jitter, j, j->bytes);
    g_clear_pointer(&load_error, g_free);
    ret = j->load ? j->load(&host, args, &lib->state) : 0;
    if (ret) {
        why = load_error ? g_strdup_printf("%s: %s", path, load_error)
                         : g_strdup_printf("%s: error %d", path, ret);
        dlclose(handle);
        return why;
    }
    lib->line = g_strdup(line);
    next_number++;
    cannoli_nr_libraries++;
    return NULL;
}

/* The same, with its memory where it does not move guest mappings. */
static char *load(const char *line)
{
    char *why;

    cannoli_apart++;
    cannoli_crowd();
    why = load_apart(line);
    cannoli_set_inside(NULL);
    cannoli_uncrowd();
    cannoli_apart--;
    return why;
}

static void unload(CannoliLibrary *lib)
{
    cannoli_library_enter(lib);
    if (lib->jitter.unload) {
        lib->jitter.unload(lib->state);
    }
    dlclose(lib->handle);
    cannoli_library_leave();
    g_free(lib->line);
}

static void report_failure(const char *why)
{
    struct mempipe_shared *shared = cannoli_shared();

    /* The first one is reported; the text is complete when it is 1. */
    if (qatomic_cmpxchg(&shared->failed, 0, 2) == 0) {
        pstrcpy(shared->failure, sizeof(shared->failure), why);
        if (strlen(why) >= sizeof(shared->failure)) {
            /* Show that there is more. */
            pstrcpy(shared->failure + sizeof(shared->failure) - 4, 4, "...");
        }
        qatomic_store_release(&shared->failed, 1);
    }
}

/* A copy of the recorder's list, which it may be writing. */
static char *read_list(uint32_t *seq)
{
    const struct mempipe_control *control = cannoli_control();
    char *list = g_malloc(MEMPIPE_FILTER_BYTES + 1);
    uint32_t before, bytes;

    do {
        before = qatomic_load_acquire(&control->filter_seq);
        bytes = MIN(qatomic_read(&control->filter_bytes), MEMPIPE_FILTER_BYTES);
        memcpy(list, control->filter, bytes);
        list[bytes] = 0;
        smp_rmb();
    } while ((before & 1) || before != qatomic_read(&control->filter_seq));
    *seq = before;
    return list;
}

uint32_t cannoli_jitter_seq;

/*
 * Load what is not loaded yet, in order; @fatal: failure ends QEMU.  @listed:
 * the lines are from the recorder's list.
 */
static void load_lines(char **lines, bool listed, bool fatal)
{
    for (uint32_t i = 0; lines[i]; i++) {
        bool there = false;
        char *why;

        for (int k = 0; k < cannoli_nr_libraries && !there; k++) {
            CannoliLibrary *lib = &cannoli_libraries[k];

            there = !lib->stays && !strcmp(lib->line, lines[i]);
            lib->stays |= there;
        }
        if (there || !*lines[i]) {
            continue;
        }
        qatomic_set(&cannoli_shared()->loading, listed ? i + 1 : UINT32_MAX);
        why = load(lines[i]);
        qatomic_set(&cannoli_shared()->loading, 0);
        if (why) {
            report_failure(why);
            g_free(why);
            if (fatal) {
                exit(EXIT_CANNOT);
            }
        }
    }
}

static void unload_others(void)
{
    int n = 0;

    for (int i = 0; i < cannoli_nr_libraries; i++) {
        if (cannoli_libraries[i].stays) {
            cannoli_libraries[n++] = cannoli_libraries[i];
        } else {
            unload(&cannoli_libraries[i]);
        }
    }
    cannoli_nr_libraries = n;
}

static void bring_up_to_date(bool fatal)
{
    g_autofree char *list = NULL;
    g_auto(GStrv) lines = NULL;

    cannoli_apart++;
    list = read_list(&cannoli_jitter_seq);
    lines = g_strsplit(list, "\n", -1);
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        cannoli_libraries[i].stays = false;
    }
    if (own_lines) {
        load_lines((char **)own_lines->pdata, false, fatal);
    }
    load_lines(lines, true, fatal);
    unload_others();
    cannoli_forget_answers();
    cannoli_choosing =
        cannoli_nr_libraries || cannoli_control()->coverage || cannoli_windows;
    cannoli_apart--;
}

void cannoli_jitter_option(const char *line)
{
    if (!own_lines) {
        own_lines = g_ptr_array_new();
    } else {
        /* the NULL at its end */
        g_ptr_array_set_size(own_lines, own_lines->len - 1);
    }
    g_ptr_array_add(own_lines, g_strdup(line));
    g_ptr_array_add(own_lines, NULL);
}

bool cannoli_jitter_given(void)
{
    return own_lines;
}

void cannoli_jitter_start(void)
{
    mmap_lock();
    make_host();
    bring_up_to_date(true);
    mmap_unlock();
}

void cannoli_jitter_reload(void)
{
    sigset_t old;

    /*
     * No threads are created, either: their stacks lie among the guest's
     * mappings.
     */
    cannoli_hold_threads(true);
    mmap_lock();
    cannoli_unblock_crashes(&old);
    bring_up_to_date(false);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    mmap_unlock();
    cannoli_hold_threads(false);
}

char *cannoli_jitter_text(void)
{
    GString *text;

    cannoli_apart++;
    text = g_string_new(NULL);
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        g_string_append_printf(text, "%s%s", i ? "\n" : "",
                               cannoli_libraries[i].line);
    }
    cannoli_apart--;
    return g_string_free(text, false);
}
