/* SPDX-License-Identifier: MIT */
/* See trace_json.h. */
#include "trace_json.h"

#include <errno.h>

void trace_json_begin(struct trace_json *j, FILE *out)
{
    *j = (struct trace_json){.out = out};
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", out);
}

void trace_json_put(struct trace_json *j, bool ok)
{
    if (ok) {
        fputs(j->any ? ",\n" : "\n", j->out);
        j->any = true;
        fwrite(j->text.data, 1, j->text.len, j->out);
    } else {
        j->nomem = true;
    }
    j->text.len = 0;
}

bool trace_json_failed(const struct trace_json *j)
{
    return j->nomem || ferror(j->out);
}

int trace_json_end(struct trace_json *j)
{
    fputs("\n]}\n", j->out);
    textbuf_fini(&j->text);
    errno = 0;
    if (fflush(j->out) || ferror(j->out)) {
        return errno ? -errno : -EIO;
    }
    return j->nomem ? -ENOMEM : 0;
}
