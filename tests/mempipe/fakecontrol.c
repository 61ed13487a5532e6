/* SPDX-License-Identifier: MIT */
/* The control-area commands of the fake QEMU. */
#include "fakeguest.h"

static const struct mempipe_control *control_of(struct fake *f)
{
    return (const struct mempipe_control *)(f->q.base + f->q.ctl->control_off);
}

static void print_limit(const char *name, uint64_t limit)
{
    if (limit != UINT64_MAX) {
        printf(" %s %llu", name, (unsigned long long)limit);
    }
}

/* Prints one line of fields, then a line for each library. */
static void print_control(struct fake *f)
{
    const struct mempipe_control *c = control_of(f);
    uint32_t left = c->filter_bytes;

    printf("paused %u window %u coverage %u watch %u seq %u", c->paused, c->window,
           c->coverage, f->q.ctl->watch, c->filter_seq);
    print_limit("after", f->q.shared->after_insns);
    print_limit("for", f->q.shared->for_insns);
    printf("\n");
    for (const char *p = c->filter; left;) {
        uint32_t n = 0;

        while (n < left && p[n] != '\n') {
            n++;
        }
        printf("library %.*s\n", (int)n, p);
        n += n < left;
        p += n;
        left -= n;
    }
    fflush(stdout);
}

static void print_marks(struct fake *f)
{
    const struct mempipe_control *c = control_of(f);
    /* pairs with the recorder's release store after the mark */
    uint32_t n = __atomic_load_n(&c->nr_marks, __ATOMIC_ACQUIRE);

    for (uint32_t i = n > MEMPIPE_MARKS ? n - MEMPIPE_MARKS : 0; i < n; i++) {
        const struct mempipe_mark *m = &c->marks[i % MEMPIPE_MARKS];

        printf("mark %u %.*s%s\n", i + 1, (int)m->bytes, m->text,
               m->asked_ns && m->asked_ns <= producer_now_ns() ? "" : " at no time");
    }
    fflush(stdout);
}

/* Sleeps on `generation', as QEMU's own thread does, until a field has this value; a
 * count may also be larger. */
static void await(struct fake *f, const char *field, uint32_t value)
{
    const struct mempipe_control *c = control_of(f);
    const uint32_t *word = !strcmp(field, "paused")  ? &c->paused
                           : !strcmp(field, "marks") ? &c->nr_marks
                           : !strcmp(field, "seq")   ? &c->filter_seq
                                                     : NULL;

    const bool counted = word != &c->paused;

    if (!word) {
        producer_die("no such field to wait for");
    }
    fake_enter_syscall(f);
    for (;;) {
        /* pairs with the recorder's increment after the change */
        uint32_t seen = __atomic_load_n(&c->generation, __ATOMIC_ACQUIRE);

        uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);

        if (now == value || (counted && now > value)) {
            break;
        }
        syscall(SYS_futex, &c->generation, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
    fake_leave_syscall(f);
}

bool fake_control(struct fake *f, const char *cmd, const char *rest)
{
    struct mempipe_shared *c = f->q.shared;
    char field[16] = "";
    unsigned value = 0;

    if (!strcmp(cmd, "control")) {
        print_control(f);
    } else if (!strcmp(cmd, "marks")) {
        print_marks(f);
    } else if (!strcmp(cmd, "await")) {
        sscanf(rest, "%15s %u", field, &value);
        await(f, field, value);
    } else if (!strcmp(cmd, "loading")) {
        __atomic_store_n(&c->loading, (uint32_t)atoi(rest), __ATOMIC_RELEASE);
    } else if (!strcmp(cmd, "failed")) {
        snprintf(c->failure, sizeof(c->failure), "%s", rest);
        /* pairs with the recorder's acquire load */
        __atomic_store_n(&c->failed, 1, __ATOMIC_RELEASE);
        producer_ring(&f->q);
    } else {
        return false;
    }
    return true;
}
