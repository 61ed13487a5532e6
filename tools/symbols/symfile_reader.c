/* SPDX-License-Identifier: MIT */
/*
 * What every part of the child's reader needs, apart from the tables: to give up with an
 * error, to remark on damage, and to get more memory.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include "symfile_reader_priv.h"

void reader_fail(struct reader *r, enum symfile_status status, const char *fmt, ...)
{
    struct table_header h = {.magic = TABLE_MAGIC, .finished = 1, .status = status};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h.text, sizeof(h.text), fmt, ap);
    va_end(ap);
    _exit(pwrite(r->out_fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) ? 0 : 1);
}

void reader_remark(struct reader *r, const char *fmt, ...)
{
    if (!r->remark[0]) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(r->remark, sizeof(r->remark), fmt, ap);
        va_end(ap);
    }
}

void reader_more_memory(struct reader *r, uint64_t file_bytes)
{
    struct rlimit l;
    if (r->memory_limit && getrlimit(RLIMIT_AS, &l) == 0 &&
        l.rlim_cur == r->memory_limit) {
        r->memory_limit += 16 * file_bytes;
        l.rlim_cur = r->memory_limit < l.rlim_max ? r->memory_limit : l.rlim_max;
        setrlimit(RLIMIT_AS, &l);
    }
}
