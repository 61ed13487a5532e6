/* SPDX-License-Identifier: MIT */
/*
 * Instructions of a thread as text: place, disassembly, accesses; and the system calls
 * between them.
 */
#ifndef TRACEDIFF_LINES_H
#define TRACEDIFF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "guest/disas.h"
#include "guest/guest.h"
#include "query/site.h"
#include "side.h"

enum line_kind {
    LINE_INSN,
    LINE_ACCESS, /* of the instruction before it */
    LINE_CALL,   /* what the system did before the next instruction */
};

struct line {
    enum line_kind kind;
    uint64_t ordinal;
    uint64_t pc;    /* INSN */
    size_t text, n; /* in lines.text; of an instruction: the disassembly */
    size_t place, place_n;
    size_t source, source_n; /* " main.c:12" */
};

struct lines {
    struct line *v;
    size_t n, cap;
    struct textbuf text;
};

/* Makes lines of one side. */
struct liner {
    const struct side *side;
    struct disas *disas;
    struct guest guest;
    struct site_options site;
};

/* False: no memory.  site: how sources are shown. */
bool liner_init(struct liner *l, const struct side *side,
                const struct site_options *site);
void liner_fini(struct liner *l);

/* Replaces the lines by those of instructions from..to-1 of a thread.  0 or an error of
 * libctr; damage ends them, without an error. */
int lines_read(struct lines *out, struct liner *l, const struct ctr_thread *t,
               uint64_t from, uint64_t to, struct ctr_diag *diag);
void lines_fini(struct lines *l);

/* The place of an instruction as a user knows it, and what it is: for JSON. */
struct insn_facts {
    struct site site;
    uint64_t pc;
    char text[DISAS_TEXT_MAX];
    size_t n;
    bool known;
};
int insn_facts_read(struct insn_facts *out, struct liner *l, const struct ctr_thread *t,
                    uint64_t ordinal, struct ctr_diag *diag);

#endif
