/* SPDX-License-Identifier: MIT */
/* Reads the bytes of an object whose place dwarf_expr_run found. */
#include <string.h>
#include "dwarf_expr.h"

static const char damaged[] = "its location is damaged";

/* Bits of a piece, as an integer's low bits; n is at most 64. */
static bool read_small(const struct dwarf_place *p, const struct dwarf_env *env,
                       uint64_t from, unsigned n, uint64_t *value, const char **reason)
{
    uint64_t v = p->number;
    if (p->where == DWARF_REGISTER && (p->number > UINT32_MAX || !env->reg ||
                                       !env->reg(env->arg, (uint32_t)p->number, &v))) {
        *reason = "a register is not known";
        return false;
    }
    if (from + n > 64) {
        *reason = "it is in a register of more than 64 bits";
        return false;
    }
    v >>= from;
    *value = n < 64 ? v & ((UINT64_C(1) << n) - 1) : v;
    return true;
}

/* n bytes of a place, which begin `skip' bits into it. */
static bool read_bytes(const struct dwarf_place *p, const struct dwarf_env *env,
                       uint64_t skip, uint8_t *out, size_t n, const char **reason)
{
    uint64_t v;
    switch (p->where) {
    case DWARF_ADDRESS:
        if (skip % 8) {
            *reason = "it does not begin at a byte";
            return false;
        }
        if (env->memory && env->memory(env->arg, p->number + skip / 8, out, n)) {
            return true;
        }
        *reason = "memory is not known";
        return false;
    case DWARF_BYTES:
        if (skip % 8 || skip / 8 > p->nr_bytes || n > p->nr_bytes - skip / 8) {
            *reason = damaged;
            return false;
        }
        memcpy(out, p->bytes + skip / 8, n);
        return true;
    case DWARF_REGISTER:
    case DWARF_VALUE:
        if (n > 8 || skip > 64) {
            *reason = p->where == DWARF_VALUE
                          ? damaged
                          : "it is in a register of more than 64 bits";
            return false;
        }
        if (!read_small(p, env, skip, (unsigned)n * 8, &v, reason)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            out[i] = (uint8_t)(v >> (8 * (env->big_endian ? n - 1 - i : i)));
        }
        return true;
    case DWARF_NOWHERE:
        *reason = "it is optimized out";
        return false;
    default:
        *reason = damaged;
        return false;
    }
}

/* The pieces one by one: one that is not known leaves the others. */
static bool read_pieces(const struct dwarf_result *r, const struct dwarf_env *env,
                        uint8_t *out, uint8_t *known, size_t n, const char **reason)
{
    const char *why;
    size_t at = 0;
    bool any = false;
    for (unsigned i = 0; i < r->nr_pieces && at < n; i++) {
        const struct dwarf_place *p = &r->piece[i];
        if (p->bit_size % 8) {
            *reason = "its location has pieces that are not whole bytes";
            return false;
        }
        size_t part = p->bit_size / 8 < n - at ? (size_t)(p->bit_size / 8) : n - at;
        if (part && read_bytes(p, env, p->bit_offset, out + at, part, &why)) {
            memset(known + at, 1, part);
            any = true;
        } else if (part) {
            memset(out + at, 0, part);
            *reason = *reason ? *reason : why;
        }
        at += part;
    }
    if (at < n) {
        *reason = "its location is shorter than its type";
        return false;
    }
    return any;
}

bool dwarf_expr_read(const struct dwarf_result *r, const struct dwarf_env *env,
                     uint8_t *out, uint8_t *known, size_t n, const char **reason)
{
    *reason = r->reason;
    if (r->place.where == DWARF_UNKNOWN) {
        return false;
    }
    if (n == 0) {
        return true;
    }
    memset(known, 0, n);
    if (r->place.where == DWARF_PIECES) {
        return read_pieces(r, env, out, known, n, reason);
    }
    if (!read_bytes(&r->place, env, 0, out, n, reason)) {
        return false;
    }
    memset(known, 1, n);
    return true;
}
