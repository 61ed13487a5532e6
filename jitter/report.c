/* SPDX-License-Identifier: MIT */
/*
 * The report on names (cannoli/names.h): the recorder's file, mapped by each recorded
 * process.  A forked child keeps the mapping, whatever it does to its root folder or its
 * privileges.
 */
#include "filter.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    const char *path;
    size_t bytes;
    void *at; /* MAP_FAILED: it cannot be mapped */
};

static int map(void *arg)
{
    struct request *r = arg;
    int fd = open(r->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size >= r->bytes) {
        r->at = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    return 0;
}

/* Pairs with the reads of the recorder, when the process has ended. */
static uint32_t set(const struct report *r, size_t name, uint32_t bits)
{
    return __atomic_fetch_or(&r->v[name].state, bits, __ATOMIC_ACQ_REL);
}

void report_open(struct report *r, const char *path, size_t names)
{
    struct request request = {
        .path = path,
        .bytes = (names + 1) * sizeof(struct cannoli_name),
        .at = MAP_FAILED,
    };

    *r = (struct report){0};
    if (child_run(map, &request) == 0 && request.at != MAP_FAILED) {
        r->v = request.at;
        r->n = names + 1;
        set(r, 0, CANNOLI_NAME_FOUND);
    }
}

void report_found(const struct report *r, size_t name)
{
    if (name < r->n) {
        set(r, name, CANNOLI_NAME_FOUND);
    }
}

void report_why(const struct report *r, size_t name, unsigned reason, const char *text,
                size_t n)
{
    char *to;

    if (name >= r->n || reason >= CANNOLI_NAME_REASONS ||
        (set(r, name, CANNOLI_NAME_CLAIMED(reason)) & CANNOLI_NAME_CLAIMED(reason))) {
        return;
    }
    to = r->v[name].why[reason];
    if (n >= sizeof(r->v[name].why[reason])) {
        n = sizeof(r->v[name].why[reason]) - 1;
    }
    memcpy(to, text, n);
    to[n] = '\0';
    set(r, name, CANNOLI_NAME_WRITTEN(reason));
}

void report_close(struct report *r)
{
    if (r->v) {
        munmap(r->v, r->n * sizeof(*r->v));
    }
    *r = (struct report){0};
}
