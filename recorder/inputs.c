/* SPDX-License-Identifier: MIT */
/* What cannoli-expand says of the execution that is to be recorded; see inputs.h. */
#include "inputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cannoli/inputs.h"
#include "common/options.h"

static const struct inputs_thread *threads_of(const struct inputs *in)
{
    return (const struct inputs_thread *)((const struct inputs_header *)in->map + 1);
}

/* Whether what is mapped has a header and the threads that that names. */
static bool is_whole(const struct inputs *in)
{
    const struct inputs_header *h = in->map;

    return in->bytes >= sizeof(*h) && h->magic == INPUTS_MAGIC &&
           h->version == INPUTS_VERSION &&
           (in->bytes - sizeof(*h)) / sizeof(struct inputs_thread) >= h->nr_threads;
}

static bool map_file(struct inputs *in, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
        in->bytes = (uint64_t)st.st_size;
        in->map = mmap(NULL, in->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        in->map = in->map == MAP_FAILED ? NULL : in->map;
    }
    if (fd >= 0) {
        close(fd);
    }
    return in->map && is_whole(in);
}

struct inputs *inputs_read(const char *prog, const char *folder)
{
    struct inputs *in = calloc(1, sizeof(*in));
    const struct inputs_header *h;
    char *path = NULL;
    bool ok;

    if (asprintf(&path, "%s/" INPUTS_NAME, folder) < 0) {
        path = NULL;
    }
    ok = in && path && map_file(in, path);
    free(path);
    if (!ok) {
        tool_error(prog, "'%s' is no folder of inputs of this version", folder);
        inputs_free(in);
        return NULL;
    }
    h = in->map;
    in->folder = folder;
    in->start_ns = h->start_ns;
    in->start_realtime_ns = h->start_realtime_ns;
    for (uint32_t i = 0; i < h->nr_threads; i++) {
        in->dropped += threads_of(in)[i].first;
    }
    return in;
}

void inputs_free(struct inputs *in)
{
    if (in && in->map) {
        munmap(in->map, in->bytes);
    }
    free(in);
}

uint64_t inputs_first(const struct inputs *in, int32_t pid, int32_t tid,
                      uint64_t start_ns)
{
    const struct inputs_header *h = in ? in->map : NULL;

    for (uint32_t i = 0; h && i < h->nr_threads; i++) {
        const struct inputs_thread *t = &threads_of(in)[i];

        if (t->pid == pid && t->tid == tid && t->start_ns == start_ns) {
            return t->first;
        }
    }
    return 0;
}
