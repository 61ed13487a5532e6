/*
 * Execution tracing into shared memory: compare-and-swap in a serial context
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where nothing runs in parallel, QEMU implements compare-and-swap as a load
 * and a store, which stores the old value if the comparison fails.  For the
 * guest that is no store: neither for a failed compare-and-swap nor for a
 * failed store-conditional, which QEMU implements by one.  But it must fault
 * where a store would.
 *
 * So this file generates two stores, and only the one after a comparison that
 * succeeds is recorded.  On x86 the code stays as QEMU has it, see
 * CANNOLI_FAILED_STORES.
 */
#include "qemu/osdep.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/tcg-op-common.h"
#include "cpu.h"
#include "pass.h"

/* Accesses that are generated now are not recorded. */
bool cannoli_silent;

static bool wanted(void)
{
    return cannoli_on && !CANNOLI_FAILED_STORES &&
           (cannoli_ctl->events & CTR_EVENTS_MEM);
}

/* A value that is used after a branch must not be a temp of one basic block. */
static TCGTemp *keep(TCGTemp *t)
{
    TCGTemp *copy = t;

    if (t->kind == TEMP_EBB) {
        if (t->type == TCG_TYPE_I32) {
            TCGv_i32 v = tcg_temp_new_i32();

            tcg_gen_mov_i32(v, temp_tcgv_i32(t));
            copy = tcgv_i32_temp(v);
        } else {
            TCGv_i64 v = tcg_temp_new_i64();

            tcg_gen_mov_i64(v, temp_tcgv_i64(t));
            copy = tcgv_i64_temp(v);
        }
    }
    return copy;
}

bool cannoli_cas_i32(TCGv_i32 ret, TCGTemp *addr, TCGv_i32 cmp, TCGv_i32 new,
                     uint64_t idx, unsigned memop)
{
    TCGType type = tcg_ctx->addr_type;
    TCGLabel *failed, *done;
    TCGv_i32 old, want;

    if (!wanted()) {
        return false;
    }
    failed = gen_new_label();
    done = gen_new_label();
    addr = keep(addr);
    new = temp_tcgv_i32(keep(tcgv_i32_temp(new)));
    old = tcg_temp_new_i32();
    want = tcg_temp_new_i32();
    tcg_gen_ext_i32(want, cmp, memop & MO_SIZE);
    tcg_gen_qemu_ld_i32_chk(old, addr, idx, memop & ~MO_SIGN, type);
    tcg_gen_brcond_i32(TCG_COND_NE, old, want, failed);
    tcg_gen_qemu_st_i32_chk(new, addr, idx, memop, type);
    tcg_gen_br(done);
    gen_set_label(failed);
    cannoli_silent = true;
    tcg_gen_qemu_st_i32_chk(old, addr, idx, memop, type);
    cannoli_silent = false;
    gen_set_label(done);
    if (memop & MO_SIGN) {
        tcg_gen_ext_i32(ret, old, memop);
    } else {
        tcg_gen_mov_i32(ret, old);
    }
    tcg_temp_free_i32(want);
    tcg_temp_free_i32(old);
    return true;
}

bool cannoli_cas_i64(TCGv_i64 ret, TCGTemp *addr, TCGv_i64 cmp, TCGv_i64 new,
                     uint64_t idx, unsigned memop)
{
    TCGType type = tcg_ctx->addr_type;
    TCGLabel *failed, *done;
    TCGv_i64 old, want;

    if (!wanted() || TCG_TARGET_REG_BITS == 32) {
        return false;
    }
    failed = gen_new_label();
    done = gen_new_label();
    addr = keep(addr);
    new = temp_tcgv_i64(keep(tcgv_i64_temp(new)));
    old = tcg_temp_new_i64();
    want = tcg_temp_new_i64();
    tcg_gen_ext_i64(want, cmp, memop & MO_SIZE);
    tcg_gen_qemu_ld_i64_chk(old, addr, idx, memop & ~MO_SIGN, type);
    tcg_gen_brcond_i64(TCG_COND_NE, old, want, failed);
    tcg_gen_qemu_st_i64_chk(new, addr, idx, memop, type);
    tcg_gen_br(done);
    gen_set_label(failed);
    cannoli_silent = true;
    tcg_gen_qemu_st_i64_chk(old, addr, idx, memop, type);
    cannoli_silent = false;
    gen_set_label(done);
    if (memop & MO_SIGN) {
        tcg_gen_ext_i64(ret, old, memop);
    } else {
        tcg_gen_mov_i64(ret, old);
    }
    tcg_temp_free_i64(want);
    tcg_temp_free_i64(old);
    return true;
}

/*
 * 16 bytes are aligned, or the load has faulted: they are in one page, and
 * storing the first half faults as storing all would.
 */
bool cannoli_cas_i128(TCGv_i128 ret, TCGTemp *addr, TCGv_i128 cmp,
                      TCGv_i128 new, uint64_t idx, unsigned memop)
{
    TCGType type = tcg_ctx->addr_type;
    MemOp half = (memop & MO_BSWAP) | MO_64;
    bool big_endian = (memop & MO_BSWAP) != MO_LE;
    TCGLabel *failed, *done;
    TCGv_i128 old, kept;
    TCGv_i64 low, high;

    if (!wanted() || TCG_TARGET_REG_BITS == 32) {
        return false;
    }
    failed = gen_new_label();
    done = gen_new_label();
    addr = keep(addr);
    old = tcg_temp_new_i128();
    kept = tcg_temp_new_i128();
    low = tcg_temp_new_i64();
    high = tcg_temp_new_i64();
    tcg_gen_mov_i128(kept, new);
    tcg_gen_qemu_ld_i128_chk(old, addr, idx, memop, type);
    tcg_gen_xor_i64(low, TCGV128_LOW(old), TCGV128_LOW(cmp));
    tcg_gen_xor_i64(high, TCGV128_HIGH(old), TCGV128_HIGH(cmp));
    tcg_gen_or_i64(low, low, high);
    tcg_gen_brcondi_i64(TCG_COND_NE, low, 0, failed);
    tcg_gen_qemu_st_i128_chk(kept, addr, idx, memop, type);
    tcg_gen_br(done);
    gen_set_label(failed);
    cannoli_silent = true;
    tcg_gen_qemu_st_i64_chk(big_endian ? TCGV128_HIGH(old) : TCGV128_LOW(old),
                            addr, idx, half, type);
    cannoli_silent = false;
    gen_set_label(done);
    tcg_gen_mov_i128(ret, old);
    tcg_temp_free_i64(high);
    tcg_temp_free_i64(low);
    tcg_temp_free_i128(kept);
    tcg_temp_free_i128(old);
    return true;
}
