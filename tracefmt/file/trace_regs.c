/* SPDX-License-Identifier: MIT */
/* The section REGS: which registers there are. */
#include "file/trace.h"

#include "base/le.h"

int trace_set_regs(struct ctr_trace *tr, const struct section *sec, struct ctr_diag *diag)
{
    int err = section_payload(&tr->src, sec, 1, &tr->payload, diag);
    if (err) {
        return err;
    }
    if (tr->regs || tr->nchunks) {
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "regs", "%s",
                        tr->regs ? "a second register table"
                                 : "a register table after chunks");
    }
    err = section_frame(sec, &tr->payload, 0, tr->dctx, &tr->raw, "regs", diag);
    if (err) {
        return err;
    }
    struct trace_regs *r = calloc(1, sizeof(*r));
    if (!r) {
        return ctr_fail_nomem(diag);
    }
    err = regtable_parse(&r->table, le32(sec->body + REGS_COUNT), tr->raw.p, tr->raw.n,
                         sec->off, diag);
    if (!err && r->table.state_bytes != le32(sec->body + REGS_STATE)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, sec->off, "regs", "size of a state");
    }
    if (!err && regview_init(&r->view, &r->table, tr->elf_machine)) {
        err = ctr_fail_nomem(diag);
    }
    if (err) {
        regtable_fini(&r->table);
        free(r);
        return err;
    }
    tr->regs = &r->table;
    tr->view = &r->view;
    tr->regs_own = r;
    return 0;
}

void trace_free_regs(struct ctr_trace *tr)
{
    if (tr->regs_own) {
        regview_fini(&tr->regs_own->view);
        regtable_fini(&tr->regs_own->table);
        free(tr->regs_own);
    }
    tr->regs = NULL;
    tr->view = NULL;
    tr->regs_own = NULL;
}

const struct ctr_reg *ctr_trace_reg(const struct ctr_trace *tr, uint32_t i)
{
    return tr->view && i < tr->view->n ? &tr->view->reg[i].pub : NULL;
}
