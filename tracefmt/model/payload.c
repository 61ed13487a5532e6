/* SPDX-License-Identifier: MIT */
/*
 * Payloads of events: their layout as a table, checks, and parsers. A payload is
 * checked once, where it comes in (from the pipe, from a file); the functions for
 * callers of the library rely on it.
 */
#include "model/payload.h"

#include "ctr.h"
#include "base/le.h"
#include "cannoli/events.h"

static const struct payload_kind kinds[] = {
    [CTR_EVENT_SYSCALL] = {11, 0, 1, 0, {4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    [CTR_EVENT_SYSRET] = {11, 0, 1, 0, {4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
    [CTR_EVENT_USERMEM] = {3, 1, 0, 0, {8, 8, 4}},
    [CTR_EVENT_SIGNAL] = {10, 0, 0, 0, {4, 4, 4, 4, 8, 8, 8, 8, 4, 4}},
    [CTR_EVENT_SIGRETURN] = {1, 0, 0, 0, {8}},
    [CTR_EVENT_MAP] = {11, 0, 2, 0, {4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8}},
    [CTR_EVENT_THREAD] = {7, 0, 1, 1, {4, 4, 4, 4, 4, 4, 4}},
    [CTR_EVENT_MARK] = {4, 0, 1, 0, {4, 4, 8, 8}},
    [CTR_EVENT_GATE] = {2, 0, 0, 0, {4, 4}},
    [CTR_EVENT_LABEL] = {4, 0, 2, 0, {4, 4, 8, 8}},
    [CTR_EVENT_SELECT] = {2, 0, 1, 0, {4, 4}},
    [CTR_EVENT_INTERRUPT] = {8, 0, 0, 0, {4, 4, 8, 8, 8, 8, 4, 4}},
    [CTR_EVENT_INTRET] = {3, 0, 0, 0, {8, 4, 4}},
    [CTR_EVENT_CONTEXT] = {3, 0, 0, 0, {8, 8, 8}},
    [CTR_EVENT_SLICE] = {1, 0, 0, 0, {8}},
    [CTR_EVENT_POWER] = {2, 0, 0, 0, {4, 4}},
    [CTR_EVENT_RAM] = {6, 1, 1, 0, {4, 4, 8, 8, 8, 8}},
    [CTR_EVENT_DMA] = {4, 1, 1, 0, {4, 4, 8, 8}},
    [CTR_EVENT_IO] = {5, 0, 2, 0, {4, 4, 8, 8, 8}},
    [CTR_EVENT_TASK] = {3, 0, 1, 0, {4, 4, 8}},
    [CTR_EVENT_AREA] = {5, 0, 1, 0, {4, 4, 8, 8, 8}},
    [CTR_EVENT_KEYFRAME] = {1, 1, 0, 0, {8}},
    [CTR_EVENT_INPUT] = {1, 1, 0, 0, {4}},
};

const struct payload_kind *payload_kind(uint32_t type)
{
    return type >= 1 && type < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[type] : NULL;
}

uint32_t payload_fixed(const struct payload_kind *k)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < k->nfields; i++) {
        n += k->field[i];
    }
    return n;
}

uint32_t payload_before_rest(const struct payload_kind *k)
{
    return payload_fixed(k) + (k->counted && !k->strings ? 4 : 0);
}

static const uint8_t *get_str(const uint8_t *p, struct ctr_str *out)
{
    out->n = le16(p);
    out->p = (const char *)p + 2;
    return p + 2 + out->n;
}

/* The number of bytes that come after a string at p, and after that number. */
static uint32_t bytes_after(const uint8_t *p)
{
    return le32(p + 2 + le16(p));
}

static int known_ram(const uint8_t *p)
{
    const uint32_t op = le32(p);
    return op - 1u < CTR_RAM_ANEW && le32(p + 4) <= 255 &&
           (op != CTR_RAM_MAP || le32(p + 4) <= CTR_RAM_ROM) &&
           (op == CTR_RAM_BYTES || bytes_after(p + 40) == 0);
}

static int known_dma(const uint8_t *p)
{
    const uint32_t n = bytes_after(p + 24);
    return le32(p) - 1u < CTR_DMA_HOST && (n == 0 || n == le64(p + 8));
}

static int known_io(const uint8_t *p)
{
    return !(le32(p) & ~(CTR_IO_WRITE | CTR_IO_PORT | CTR_IO_FAILED)) &&
           le32(p + 4) - 1u < 8;
}

static int known_task(const uint8_t *p)
{
    return le64(p + 8) ? le16(p + 16) < 16 : !le32(p) && !le32(p + 4) && !le16(p + 16);
}

static int known_area(const uint8_t *p)
{
    const uint32_t flags = le32(p + 4);
    const uint64_t start = le64(p + 8), end = le64(p + 16);
    return start == end
               ? flags == CTR_AREA_ANEW && !start && !le64(p + 24) && !le16(p + 32)
               : (!flags || flags == CTR_AREA_REMOVED) && start < end;
}

static int known_input(const uint8_t *p)
{
    const int one = le32(p) == CTR_INPUT_SEED || le32(p) == CTR_INPUT_SECOND;

    return le32(p) - 1u < CTR_INPUT_SECOND && le32(p + 4) % 8 == 0 &&
           (!one || le32(p + 4) == 8);
}

/* Whether the numbers of a payload have known values. */
static int known_kind(uint32_t type, const uint8_t *p)
{
    switch (type) {
    case CTR_EVENT_MAP:
        return le32(p) - 1u < CTR_MAP_DISCARD;
    case CTR_EVENT_THREAD:
        return le32(p) - 1u < CTR_THREAD_EXEC;
    case CTR_EVENT_MARK:
        return le32(p) - 1u < CTR_MARK_GUEST;
    case CTR_EVENT_GATE:
        return le32(p) <= 1 && le32(p + 4) - 1u < CTR_GATE_TASK;
    case CTR_EVENT_LABEL:
        return le32(p) - 1u < CTR_LABEL_REMOVE;
    case CTR_EVENT_POWER:
        return le32(p) - 1u < CTR_POWER_SAVED;
    case CTR_EVENT_RAM:
        return known_ram(p);
    case CTR_EVENT_DMA:
        return known_dma(p);
    case CTR_EVENT_IO:
        return known_io(p);
    case CTR_EVENT_TASK:
        return known_task(p);
    case CTR_EVENT_AREA:
        return known_area(p);
    case CTR_EVENT_KEYFRAME:
        return le32(p + 8) == CTR_KEYFRAME_BYTES && le64(p) % CTR_KEYFRAME_BYTES == 0;
    case CTR_EVENT_INPUT:
        return known_input(p);
    case CTR_EVENT_INTERRUPT:
        return le32(p + 40) < CTR_PRIVILEGES && le32(p + 44) < CTR_PRIVILEGES;
    case CTR_EVENT_INTRET:
        return le32(p + 8) < CTR_PRIVILEGES && le32(p + 12) < CTR_PRIVILEGES;
    default:
        return 1;
    }
}

/*
 * Whether a THREAD event may have these arguments: as many as it says, all of them unless
 * they reach the limit; the last one may be cut then.
 */
static int known_args(const uint8_t *p, const uint8_t *args, size_t n)
{
    const uint32_t op = le32(p), argc = le32(p + 24);
    uint32_t whole = 0;
    for (size_t i = 0; i < n; i++) {
        whole += args[i] == 0;
    }
    if ((op != CTR_THREAD_START && op != CTR_THREAD_EXEC) || n == 0 || n > CTR_MAX_ARGS ||
        whole > argc) {
        return 0;
    }
    return args[n - 1] ? whole < argc && n == CTR_MAX_ARGS
                       : whole == argc || n == CTR_MAX_ARGS;
}

const char *payload_check(uint32_t type, const uint8_t *p, size_t n)
{
    const struct payload_kind *k = payload_kind(type);
    if (!k) {
        return "an event of an unknown type";
    }
    size_t at = payload_fixed(k);
    if (n < at) {
        return "an event that is too short";
    }
    for (unsigned i = 0; i < k->strings || (i < k->strings + k->more && at < n); i++) {
        if (n - at < 2 || n - at - 2 < le16(p + at)) {
            return "a string that is too short";
        }
        if (i >= k->strings && !known_args(p, p + at + 2, le16(p + at))) {
            return "arguments of a program that cannot be";
        }
        at += 2u + le16(p + at);
    }
    if (k->counted) {
        if (n - at < 4 || n - at - 4 != le32(p + at) ||
            (k->nfields > 1 && le32(p + at) > le64(p + 8))) { /* more than the size */
            return "data with a wrong length";
        }
        at = n;
    }
    if (at != n) {
        return "an event that is too long";
    }
    return known_kind(type, p) ? NULL : "an event of an unknown kind";
}

/* ------------------------------------------------------------ taking apart */

static int not_it(const struct ctr_os_event *e, uint32_t type)
{
    return e->type != type ? -CTR_E_INVAL : 0;
}

int ctr_parse_syscall(const struct ctr_os_event *e, struct ctr_syscall *out)
{
    if (not_it(e, CTR_EVENT_SYSCALL) && not_it(e, CTR_EVENT_SYSRET)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->nr = le32(p);
    out->flags = le32(p + 4);
    out->result = (int64_t)le64(p + 8);
    for (unsigned i = 0; i < 8; i++) {
        out->args[i] = le64(p + 16 + 8 * (size_t)i);
    }
    get_str(p + 80, &out->name);
    return 0;
}

int ctr_parse_usermem(const struct ctr_os_event *e, struct ctr_usermem *out)
{
    if (not_it(e, CTR_EVENT_USERMEM)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->addr = le64(p);
    out->size = le64(p + 8);
    out->flags = le32(p + 16);
    out->n = le32(p + 20);
    out->data = p + 24;
    return 0;
}

int ctr_parse_signal(const struct ctr_os_event *e, struct ctr_signal *out)
{
    if (not_it(e, CTR_EVENT_SIGNAL)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->signo = le32(p);
    out->code = (int32_t)le32(p + 4);
    out->pid = (int32_t)le32(p + 8);
    out->uid = le32(p + 12);
    out->addr = le64(p + 16);
    out->value = le64(p + 24);
    out->pc = le64(p + 32);
    out->handler = le64(p + 40);
    out->flags = le32(p + 48);
    return 0;
}

int ctr_parse_sigreturn(const struct ctr_os_event *e, uint64_t *pc)
{
    if (not_it(e, CTR_EVENT_SIGRETURN)) {
        return -CTR_E_INVAL;
    }
    *pc = le64(e->payload);
    return 0;
}

int ctr_parse_map(const struct ctr_os_event *e, struct ctr_map *out)
{
    if (not_it(e, CTR_EVENT_MAP)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->op = le32(p);
    out->prot = le32(p + 4);
    out->flags = le32(p + 8);
    out->start = le64(p + 16);
    out->size = le64(p + 24);
    out->offset = le64(p + 32);
    out->old_start = le64(p + 40);
    out->old_size = le64(p + 48);
    out->dev = le64(p + 56);
    out->inode = le64(p + 64);
    get_str(get_str(p + 72, &out->path), &out->build_id);
    return 0;
}

int ctr_parse_thread(const struct ctr_os_event *e, struct ctr_thread_event *out)
{
    if (not_it(e, CTR_EVENT_THREAD)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->op = le32(p);
    out->pid = (int32_t)le32(p + 4);
    out->tid = (int32_t)le32(p + 8);
    out->ppid = (int32_t)le32(p + 12);
    out->ptid = (int32_t)le32(p + 16);
    out->reason = le32(p + 20);
    out->status = (int32_t)le32(p + 24);
    out->argc = 0;
    p = get_str(p + 28, &out->name);
    out->args = (struct ctr_str){0};
    if (p < e->payload + e->size) {
        get_str(p, &out->args);
        out->argc = (uint32_t)out->status;
        out->status = 0;
    }
    return 0;
}

int ctr_parse_mark(const struct ctr_os_event *e, struct ctr_mark *out)
{
    if (not_it(e, CTR_EVENT_MARK)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->source = le32(p);
    out->number = le32(p + 4);
    out->asked_ns = le64(p + 8);
    out->value = le64(p + 16);
    get_str(p + 24, &out->text);
    return 0;
}

int ctr_parse_gate(const struct ctr_os_event *e, struct ctr_gate *out)
{
    if (not_it(e, CTR_EVENT_GATE)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->open = le32(p);
    out->why = le32(p + 4);
    return 0;
}

int ctr_parse_label(const struct ctr_os_event *e, struct ctr_label *out)
{
    if (not_it(e, CTR_EVENT_LABEL)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->op = le32(p);
    out->start = le64(p + 8);
    out->size = le64(p + 16);
    get_str(get_str(p + 24, &out->type), &out->name);
    return 0;
}

int ctr_parse_select(const struct ctr_os_event *e, struct ctr_select *out)
{
    if (not_it(e, CTR_EVENT_SELECT)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->generation = le32(p);
    get_str(p + 8, &out->text);
    return 0;
}

int ctr_parse_interrupt(const struct ctr_os_event *e, struct ctr_interrupt *out)
{
    if (not_it(e, CTR_EVENT_INTERRUPT)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->flags = le32(p);
    out->number = le32(p + 4);
    out->syndrome = le64(p + 8);
    out->addr = le64(p + 16);
    out->from = le64(p + 24);
    out->to = le64(p + 32);
    out->old_privilege = le32(p + 40);
    out->privilege = le32(p + 44);
    return 0;
}

int ctr_parse_intret(const struct ctr_os_event *e, struct ctr_intret *out)
{
    if (not_it(e, CTR_EVENT_INTRET)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->pc = le64(p);
    out->old_privilege = le32(p + 8);
    out->privilege = le32(p + 12);
    return 0;
}

int ctr_parse_context(const struct ctr_os_event *e, struct ctr_context *out)
{
    if (not_it(e, CTR_EVENT_CONTEXT)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->table = le64(p);
    out->asid = le64(p + 8);
    out->id = le64(p + 16);
    return 0;
}

int ctr_parse_slice(const struct ctr_os_event *e, struct ctr_slice *out)
{
    if (not_it(e, CTR_EVENT_SLICE)) {
        return -CTR_E_INVAL;
    }
    out->number = le64(e->payload);
    return 0;
}

int ctr_parse_power(const struct ctr_os_event *e, struct ctr_power *out)
{
    if (not_it(e, CTR_EVENT_POWER)) {
        return -CTR_E_INVAL;
    }
    out->op = le32(e->payload);
    return 0;
}

int ctr_parse_ram(const struct ctr_os_event *e, struct ctr_ram *out)
{
    if (not_it(e, CTR_EVENT_RAM)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->op = le32(p);
    out->fill = (uint8_t)le32(p + 4);
    out->size = le64(p + 8);
    out->addr = le64(p + 16);
    out->offset = le64(p + 24);
    out->from = le64(p + 32);
    p = get_str(p + 40, &out->block);
    out->n = le32(p);
    out->data = p + 4;
    return 0;
}

int ctr_parse_dma(const struct ctr_os_event *e, struct ctr_dma *out)
{
    if (not_it(e, CTR_EVENT_DMA)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->source = le32(p);
    out->size = le64(p + 8);
    out->addr = le64(p + 16);
    p = get_str(p + 24, &out->device);
    out->n = le32(p);
    out->data = p + 4;
    return 0;
}

int ctr_parse_io(const struct ctr_os_event *e, struct ctr_io *out)
{
    if (not_it(e, CTR_EVENT_IO)) {
        return -CTR_E_INVAL;
    }
    const uint8_t *p = e->payload;
    out->flags = le32(p);
    out->size = le32(p + 4);
    out->addr = le64(p + 8);
    out->offset = le64(p + 16);
    out->value = le64(p + 24);
    get_str(get_str(p + 32, &out->region), &out->device);
    return 0;
}

int ctr_parse_task(const struct ctr_os_event *e, struct ctr_task *out)
{
    if (not_it(e, CTR_EVENT_TASK)) {
        return -CTR_E_INVAL;
    }
    out->pid = le32(e->payload);
    out->tgid = le32(e->payload + 4);
    out->task = le64(e->payload + 8);
    get_str(e->payload + 16, &out->comm);
    return 0;
}

int ctr_parse_area(const struct ctr_os_event *e, struct ctr_area *out)
{
    if (not_it(e, CTR_EVENT_AREA)) {
        return -CTR_E_INVAL;
    }
    out->tgid = le32(e->payload);
    out->flags = le32(e->payload + 4);
    out->start = le64(e->payload + 8);
    out->end = le64(e->payload + 16);
    out->offset = le64(e->payload + 24);
    get_str(e->payload + 32, &out->path);
    return 0;
}

int ctr_parse_keyframe(const struct ctr_os_event *e, struct ctr_keyframe *out)
{
    if (not_it(e, CTR_EVENT_KEYFRAME)) {
        return -CTR_E_INVAL;
    }
    out->addr = le64(e->payload);
    out->n = le32(e->payload + 8);
    out->data = e->payload + 12;
    return 0;
}

int ctr_parse_input(const struct ctr_os_event *e, struct ctr_input *out)
{
    if (not_it(e, CTR_EVENT_INPUT)) {
        return -CTR_E_INVAL;
    }
    out->what = le32(e->payload);
    out->n = le32(e->payload + 4) / 8;
    out->data = e->payload + 8;
    return 0;
}

uint64_t ctr_input_number(const struct ctr_input *in, uint32_t i)
{
    return le64(in->data + 8 * (size_t)i);
}

enum ctr_next ctr_event_next(const struct ctr_os_event *e, uint64_t *pc)
{
    struct ctr_signal s;
    struct ctr_interrupt i;
    if (e->type == CTR_EVENT_GATE) {
        return CTR_NEXT_UNKNOWN;
    }
    if (ctr_parse_signal(e, &s) == 0) {
        *pc = s.pc;
        return CTR_NEXT_PC;
    }
    if (ctr_parse_interrupt(e, &i)) {
        return CTR_NEXT_LATER;
    }
    *pc = i.from;
    return i.flags & CTR_INT_TRAP ? CTR_NEXT_UNKNOWN : CTR_NEXT_PC;
}
