/* SPDX-License-Identifier: MIT */
#include "fakeguest.h"

struct slot {
    uint16_t insn, group;
    uint8_t access;
};

enum { REG_R0, REG_R1, REG_Q0, REGS };
#define ROOM 32u /* more words and units than any block makes */

static bool on(const struct fake *f, uint32_t events)
{
    return (f->q.ctl->events & events) == events;
}

/* ------------------------------------------------------------------ tables */

static uint32_t define(struct fake *f, uint64_t pc, unsigned ninsn,
                       const struct slot *slots, unsigned nslot)
{
    uint8_t def[256] = {0};
    uint16_t made = 0, groups = 0;
    uint32_t n32 = ninsn * 4;
    size_t at = CTR_BLOCKDEF_FIXED;

    memset(def + at, 4, ninsn);
    at += ninsn;
    for (unsigned i = 0; i < ninsn; i++, at += 4) {
        memcpy(def + at, &(uint32_t){0xe320f000}, 4); /* nop */
    }
    for (unsigned i = 0; i < nslot; i++) {
        bool reg = slots[i].access & CTR_ACCESS_REG;

        if (!on(f, reg ? CTR_EVENTS_REG : CTR_EVENTS_MEM)) {
            continue;
        }
        memcpy(def + at, &slots[i].insn, 2);
        memcpy(def + at + 2, &slots[i].group, 2);
        def[at + 4] = slots[i].access;
        at += CTR_BLOCKDEF_SLOT;
        made++;
        groups = reg || slots[i].group < groups ? groups : slots[i].group;
    }
    memcpy(def + CTR_BLOCKDEF_PC, &pc, 8);
    memcpy(def + CTR_BLOCKDEF_NINSN, &(uint16_t){(uint16_t)ninsn}, 2);
    memcpy(def + CTR_BLOCKDEF_NSLOT, &made, 2);
    memcpy(def + CTR_BLOCKDEF_NGROUP, &groups, 2);
    memcpy(def + CTR_BLOCKDEF_CODELEN, &n32, 4);
    return producer_define(&f->q, def, (uint32_t)at);
}

/* Every process translates for itself, so the recorder receives each block often. */
static void define_all(struct fake *f)
{
    static const struct slot a[] = {{0, REG_R0, 2 | CTR_ACCESS_REG},
                                    {1, 0, 2},
                                    {2, 0, 2 | CTR_ACCESS_STORE},
                                    {3, REG_Q0, 4 | CTR_ACCESS_REG}};
    static const struct slot b[] = {{0, REG_R1, 2 | CTR_ACCESS_REG}};
    static const struct slot c[] = {{1, 1, 3}};

    f->ids[BLOCK_A] = define(f, 0x1000, 4, a, 4);
    f->ids[BLOCK_B] = define(f, 0x2000, 1, b, 1);
    f->ids[BLOCK_C] = define(f, 0x3000, 3, c, 1);
    f->ids[BLOCK_D] = define(f, 0x4000, 1, NULL, 0);
}

static void emit_regs(struct fake *f, const char *first)
{
    const char *const names[REGS] = {first, "r1", "q0"};
    static const uint8_t sizes[REGS] = {4, 4, 16};
    static const uint8_t flags[REGS] = {0, 0, CTR_REG_VECTOR};
    struct mempipe_side_regtable t = {.n = REGS};
    uint8_t table[64];

    for (int i = 0; i < REGS; i++) {
        uint8_t *e = table + t.table_bytes;
        size_t n = strlen(names[i]);

        memcpy(e, (uint8_t[]){sizes[i], flags[i], (uint8_t)n, 0}, 4);
        memcpy(e + 4, names[i], n);
        t.table_bytes += 4 + (uint32_t)n;
    }
    producer_side_record(&f->q, MEMPIPE_SIDE_REGTABLE, &t.h, sizeof(t), table,
                         t.table_bytes);
}

/* ------------------------------------------------------------------ events */

struct payload {
    uint8_t p[MEMPIPE_DATA_BYTES + 64];
    uint32_t n;
};

static void put(struct payload *p, const void *v, size_t n)
{
    memcpy(p->p + p->n, v, n);
    p->n += (uint32_t)n;
}

static void put32(struct payload *p, uint32_t v)
{
    put(p, &v, 4);
}

static void put64(struct payload *p, uint64_t v)
{
    put(p, &v, 8);
}

static void put_str(struct payload *p, const char *s, size_t n)
{
    put(p, &(uint16_t){(uint16_t)n}, 2);
    put(p, s, n);
}

static void event(struct fake *f, enum ctr_event_type type, const struct payload *p)
{
    struct mempipe_side_event e = {.p = {.n = p->n}, .type = type};

    if (type >= CTR_EVENT_MAP || on(f, CTR_EVENTS_TIME)) {
        e.time_ns = producer_now_ns();
    }
    producer_placed(&f->q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), p->p, p->n);
}

static void emit_call(struct fake *f, enum ctr_event_type type, uint64_t size)
{
    const uint64_t args[8] = {0, 0x60000, size};
    struct payload p = {0};

    put32(&p, 3);
    put32(&p, 0);
    put64(&p, type == CTR_EVENT_SYSRET ? size : 0);
    put(&p, args, sizeof(args));
    put_str(&p, "read", 4);
    event(f, type, &p);
}

static void emit_data(struct fake *f, uint64_t size)
{
    uint64_t limit = f->q.ctl->data_limit, done = 0;

    do {
        uint64_t part =
            size - done < MEMPIPE_DATA_BYTES ? size - done : MEMPIPE_DATA_BYTES;
        uint64_t kept = limit - done < part ? limit - done : part;
        struct payload p = {0};

        put64(&p, 0x60000 + done);
        put64(&p, kept < part ? size - done : part);
        put32(&p, CTR_USERMEM_WRITE);
        put32(&p, (uint32_t)kept);
        memset(p.p + p.n, 'x', kept);
        p.n += (uint32_t)kept;
        event(f, CTR_EVENT_USERMEM, &p);
        done += part;
    } while (done < size && done < limit);
}

static void emit_map(struct fake *f, uint32_t op, uint64_t start, const char *path)
{
    struct payload p = {0};

    if (!on(f, CTR_EVENTS_MAP)) {
        return;
    }
    put32(&p, op);
    put32(&p, 5);
    put32(&p, 2);
    put32(&p, 0);
    put64(&p, start);
    put64(&p, 0x1000);
    put64(&p, 0);
    put64(&p, 0);
    put64(&p, 0);
    put64(&p, 1);
    put64(&p, 2);
    put_str(&p, path, strlen(path));
    put_str(&p, "0123456789abcdef0123", 20);
    event(f, CTR_EVENT_MAP, &p);
}

/* args: n bytes of the program's arguments; status is their number then. */
static void emit_thread(struct fake *f, uint32_t op, uint32_t reason, int32_t status,
                        const char *name, const char *args, size_t n)
{
    struct payload p = {0};

    if (!on(f, CTR_EVENTS_THR)) {
        return;
    }
    put32(&p, op);
    put32(&p, (uint32_t)f->q.p->pid);
    put32(&p, (uint32_t)f->q.p->tid);
    put32(&p, (uint32_t)f->q.p->ppid);
    put32(&p, (uint32_t)f->q.p->ptid);
    put32(&p, reason);
    put32(&p, (uint32_t)status);
    put_str(&p, name, strlen(name));
    if (n) {
        put_str(&p, args, n);
    }
    event(f, CTR_EVENT_THREAD, &p);
}

/* Registers changed by instruction insn, or MEMPIPE_OUTSIDE. */
static void emit_reg(struct fake *f, uint32_t insn, uint16_t reg, uint32_t value)
{
    struct mempipe_side_regs r = {.p = {.n = 1}, .insn = insn};
    uint8_t entry[MEMPIPE_REG_BYTES] = {0};

    memcpy(entry, &reg, 2);
    memcpy(entry + 4, &value, 4);
    if (on(f, CTR_EVENTS_REG)) {
        producer_placed(&f->q, MEMPIPE_SIDE_REGS, &r.p, sizeof(r), entry, sizeof(entry));
    }
}

/* ------------------------------------------------------------------ threads */

void fake_attach(struct fake *f, uint32_t pipe, const struct producer_identity *id,
                 const char *program)
{
    static const char args[] = "fake\0of it";

    memset(&f->regs, 0, sizeof(f->regs));
    f->q.state = &f->regs;
    f->q.state_bytes = on(f, CTR_EVENTS_REG) ? sizeof(f->regs) : 0;
    producer_attach(&f->q, pipe, id);
    if (id->is_process) {
        if (on(f, CTR_EVENTS_REG)) {
            emit_regs(f, "r0");
        }
        define_all(f);
    }
    emit_thread(f, program ? CTR_THREAD_EXEC : CTR_THREAD_START, 0,
                id->is_process ? 2 : 0, program ? program : "fake", args,
                id->is_process ? sizeof(args) : 0);
    if (id->is_process) {
        emit_map(f, CTR_MAP_INITIAL, 0x1000, "/bin/fake");
    }
    f->attached = true;
}

void fake_end(struct fake *f, uint32_t reason, int status)
{
    emit_thread(f, CTR_THREAD_END, reason, status, "", NULL, 0);
    producer_end(&f->q, reason, status);
    f->attached = false;
}

void fake_enter_syscall(struct fake *f)
{
    if (f->q.ctl->live && (producer_words(&f->q) || f->q.placed)) {
        producer_hand_over(&f->q);
    }
    producer_quiet(&f->q, true);
}

void fake_leave_syscall(struct fake *f)
{
    producer_quiet(&f->q, false);
}

/* ------------------------------------------------------------------ blocks */

static void access_to(struct fake *f, uint64_t addr, const void *value, uint32_t n)
{
    if (on(f, CTR_EVENTS_MEM)) {
        producer_addr(&f->q, addr);
    }
    if (on(f, CTR_EVENTS_VAL)) {
        producer_value(&f->q, value, n);
    }
}

static void reg_is(struct fake *f, void *reg, const void *value, uint32_t n)
{
    if (on(f, CTR_EVENTS_REG)) {
        producer_value(&f->q, value, n);
        memcpy(reg, value, n);
    }
}

void fake_half_a_block(struct fake *f)
{
    producer_room(&f->q, ROOM, ROOM);
    producer_word(&f->q, f->ids[BLOCK_A]);
    reg_is(f, &f->regs.r0, &(uint32_t){0x777}, 4);
    access_to(f, 0x12340, &(uint32_t){0x888}, 4);
}

void fake_blocks(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)i, w = (uint32_t)(i / 15);

        producer_room(&f->q, ROOM, ROOM);
        switch (i % 3) {
        case 0:
            producer_word(&f->q, f->ids[BLOCK_A]);
            reg_is(f, &f->regs.r0, &v, 4);
            access_to(f, 0x10000 + 4 * i, &(uint32_t){3 * v}, 4);
            access_to(f, 0x80000000 - 4 * i, &v, 4);
            reg_is(f, f->regs.q0, (uint32_t[]){v, 0, v, 0}, 16);
            break;
        case 1:
            producer_word(&f->q, f->ids[BLOCK_B]);
            reg_is(f, &f->regs.r1, &w, 4);
            break;
        case 2:
            producer_word(&f->q, f->ids[BLOCK_C]);
            for (unsigned k = 0; k < i % 5 && on(f, CTR_EVENTS_MEM); k++) {
                producer_word(&f->q, CTR_WORD_GROUP | 1);
                access_to(f, 0x20000 + 8 * k, &(uint64_t){(uint64_t)k << 32 | v}, 8);
            }
            break;
        }
    }
}

void fake_noise(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)(i * 2654435761u);

        producer_room(&f->q, ROOM, ROOM);
        producer_word(&f->q, f->ids[BLOCK_A]);
        reg_is(f, &f->regs.r0, &v, 4);
        access_to(f, v * 2246822519u ^ v >> 15, &v, 4);
        access_to(f, 0x80000000 - 4 * i, &v, 4);
        reg_is(f, f->regs.q0, (uint32_t[]){v, 0, v, 0}, 16);
    }
}

void fake_many(struct fake *f, uint64_t n, uint64_t times)
{
    static const struct slot load = {0, 0, 2};
    uint32_t *ids = malloc(n * sizeof(ids[0]));

    if (!ids) {
        producer_die("no memory");
    }
    for (uint64_t i = 0; i < n; i++) {
        ids[i] = define(f, 0x100000 + 4 * i, 1, &load, 1);
    }
    for (uint64_t i = 0; i < n * times; i++) {
        producer_room(&f->q, ROOM, ROOM);
        producer_word(&f->q, ids[i % n]);
        access_to(f, 0x60000000 + 4 * i, &(uint32_t){(uint32_t)i}, 4);
    }
    free(ids);
}

void fake_helper(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct mempipe_side_access a = {.addr = 0x50000 + 32 * i, .size = 32};
        uint8_t data[32];

        producer_room(&f->q, ROOM, ROOM);
        producer_word(&f->q, f->ids[BLOCK_D]);
        for (unsigned k = 0; k < sizeof(data); k++) {
            data[k] = (uint8_t)(i + k);
        }
        a.p.n = on(f, CTR_EVENTS_VAL) ? sizeof(data) : 0;
        if (on(f, CTR_EVENTS_MEM)) {
            producer_placed(&f->q, MEMPIPE_SIDE_ACCESS, &a.p, sizeof(a), data, a.p.n);
        }
        emit_reg(f, 0, REG_R1, (uint32_t)i + 0xd0000);
        f->regs.r1 = (uint32_t)i + 0xd0000;
    }
}

void fake_calls(struct fake *f, uint64_t n, uint64_t size)
{
    for (uint64_t i = 0; i < n; i++) {
        producer_room(&f->q, ROOM, ROOM);
        producer_word(&f->q, f->ids[BLOCK_D]);
        if (on(f, CTR_EVENTS_SYS)) {
            emit_call(f, CTR_EVENT_SYSCALL, size);
            emit_data(f, size);
        }
        emit_reg(f, MEMPIPE_OUTSIDE, REG_R0, (uint32_t)(size + i));
        f->regs.r0 = (uint32_t)(size + i);
        if (on(f, CTR_EVENTS_SYS)) {
            emit_call(f, CTR_EVENT_SYSRET, size);
        }
    }
}

void fake_call_begins(struct fake *f)
{
    producer_word(&f->q, f->ids[BLOCK_D]);
    if (on(f, CTR_EVENTS_SYS)) {
        emit_call(f, CTR_EVENT_SYSCALL, 1);
    }
}

void fake_signals(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct payload p = {0}, back = {0};

        producer_room(&f->q, ROOM, ROOM);
        if (on(f, CTR_EVENTS_SYS)) {
            put32(&p, 10);
            put32(&p, 0);
            put32(&p, (uint32_t)getpid());
            put32(&p, 0);
            put64(&p, 0);
            put64(&p, i);
            put64(&p, 0x1004);
            put64(&p, 0x2000);
            put32(&p, CTR_SIGNAL_HANDLER);
            put32(&p, 0);
            event(f, CTR_EVENT_SIGNAL, &p);
        }
        producer_word(&f->q, f->ids[BLOCK_B]);
        reg_is(f, &f->regs.r1, &(uint32_t){(uint32_t)i}, 4);
        if (on(f, CTR_EVENTS_SYS)) {
            put64(&back, 0x1004);
            event(f, CTR_EVENT_SIGRETURN, &back);
        }
    }
}

void fake_maps(struct fake *f, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        producer_room(&f->q, ROOM, ROOM);
        emit_map(f, CTR_MAP_MMAP, 0x70000000 + 0x1000 * i, "/lib/fake.so");
    }
}

/* --------------------------------------------------------------- nonsense */

bool fake_scribble(struct fake *f, const char *kind)
{
    struct mempipe_side_event e = {.type = CTR_EVENT_SYSCALL};
    struct mempipe_side_access a = {.addr = 1, .size = 4};
    struct mempipe_side_regs r = {.insn = MEMPIPE_OUTSIDE};
    struct producer q = f->q;

    producer_word(&f->q, f->ids[BLOCK_D]);
    if (!strcmp(kind, "type")) {
        producer_placed(&f->q, 77, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "short")) {
        producer_side_record(&f->q, MEMPIPE_SIDE_EVENT, &e.p.h, 8, NULL, 0);
    } else if (!strcmp(kind, "head")) {
        producer_side_record(&f->q, MEMPIPE_SIDE_ACCESS, &a.p.h, sizeof(a.p), NULL, 0);
    } else if (!strcmp(kind, "old")) {
        producer_hand_over(&f->q);
        usleep(1000000);
        q.seq--;
        producer_placed(&q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "future")) {
        q.seq += 100000;
        producer_placed(&q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "payload")) {
        producer_placed(&f->q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "event-length")) {
        e.p.n = 0xffffff00;
        producer_placed(&f->q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "event-type")) {
        e.type = 99;
        producer_placed(&f->q, MEMPIPE_SIDE_EVENT, &e.p, sizeof(e), NULL, 0);
    } else if (!strcmp(kind, "data-length")) {
        a.p.n = 0x7fffffff;
        producer_placed(&f->q, MEMPIPE_SIDE_ACCESS, &a.p, sizeof(a), NULL, 0);
    } else if (!strcmp(kind, "insn")) {
        a.insn = 5000;
        producer_placed(&f->q, MEMPIPE_SIDE_ACCESS, &a.p, sizeof(a), NULL, 0);
    } else if (!strcmp(kind, "place")) {
        q.low += 4000;
        producer_placed(&q, MEMPIPE_SIDE_ACCESS, &a.p, sizeof(a), NULL, 0);
    } else if (!strcmp(kind, "regs-length")) {
        r.p.n = 0x10000000;
        producer_placed(&f->q, MEMPIPE_SIDE_REGS, &r.p, sizeof(r), NULL, 0);
    } else if (!strcmp(kind, "reg-number")) {
        emit_reg(f, MEMPIPE_OUTSIDE, 4000, 1);
    } else if (!strcmp(kind, "state")) {
        struct mempipe_side_place s = {.n = 3};
        producer_placed(&f->q, MEMPIPE_SIDE_STATE, &s, sizeof(s), "abc", 3);
    } else if (!strcmp(kind, "table")) {
        emit_regs(f, "zz");
    } else if (!strcmp(kind, "flood")) {
        for (int i = 0; i < 4000; i++) {
            emit_data(f, MEMPIPE_DATA_BYTES);
        }
    } else {
        return false;
    }
    producer_hand_over(&f->q);
    return true;
}
