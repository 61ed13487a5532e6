/* SPDX-License-Identifier: MIT */
/* What a guest that escaped from QEMU writes into the shared memory. */
#include <fcntl.h>
#include <sys/stat.h>

#include "fakeguest.h"

static int open_recorders(const struct fake *f, int number)
{
    char name[64];
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/fd/%d", f->q.ctl->recorder_pid, number);
    fd = open(name, O_RDWR);
    if (fd < 0) {
        producer_die("the recorder's descriptor cannot be opened");
    }
    return fd;
}

/* Tries what the seals must prevent, and prints what the system answers. */
static void try_seals(struct fake *f)
{
    const int ctl = open_recorders(f, f->q.ctl->ctl_fd);
    const int shared = open_recorders(f, f->q.ctl->shared_fd);
    const size_t n = f->q.ctl->shared_off;
    struct stat st;

    printf("write %s\n", pwrite(ctl, "", 1, 0) < 0 ? strerror(errno) : "done");
    printf("map %s\n",
           mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, ctl, 0) == MAP_FAILED
               ? strerror(errno)
               : "done");
    printf("protect %s\n",
           mprotect(f->q.base, n, PROT_READ | PROT_WRITE) < 0 ? strerror(errno) : "done");
    fstat(shared, &st);
    printf("shrink %s\n", ftruncate(ctl, 0) < 0 ? strerror(errno) : "done");
    printf("shrink %s\n", ftruncate(shared, 4096) < 0 ? strerror(errno) : "done");
    printf("grow %s\n", ftruncate(shared, st.st_size * 2) < 0 ? strerror(errno) : "done");
    fflush(stdout);
    close(ctl);
    close(shared);
}

/* A thread of another process, which the recorder never traced. */
static void name_process(struct fake *f, int32_t pid, uint32_t state)
{
    struct mempipe_pipe *p = producer_pipe(&f->q, producer_claim(&f->q));

    p->pid = pid;
    p->tid = pid;
    p->is_process = 1;
    p->process = p->serial;
    p->start_ns = producer_now_ns();
    __atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
    producer_ring(&f->q);
}

/*
 * Many blocks, each of another epoch and with a page of ids of its own.  The pipe claims
 * to be in each of the epochs, and that its own process was forked in the one before.
 */
static void make_epochs(struct fake *f, uint32_t n)
{
    uint8_t def[64] = {0};

    def[CTR_BLOCKDEF_NINSN] = 1;
    def[CTR_BLOCKDEF_CODELEN] = 4;
    def[CTR_BLOCKDEF_FIXED] = 4;
    for (uint32_t i = 1; i <= n; i++) {
        struct mempipe_side_block b = {
            .id = (i + 256) % MEMPIPE_ID_PAGES * MEMPIPE_ID_PAGE,
            .def_bytes = CTR_BLOCKDEF_FIXED + 1 + 4,
            .epoch = i * 2654435761u,
        };

        f->q.p->from_process = f->q.serial;
        f->q.p->from_epoch = f->q.p->epoch;
        f->q.p->epoch = b.epoch;
        producer_side_record(&f->q, MEMPIPE_SIDE_BLOCK, &b.h, sizeof(b), def,
                             b.def_bytes);
    }
}

bool fake_lie(struct fake *f, const char *what)
{
    uint8_t *shared = (uint8_t *)f->q.shared;
    int pid;

    if (!strcmp(what, "seals")) {
        try_seals(f);
    } else if (sscanf(what, "claim %d", &pid) == 1) {
        name_process(f, pid, MEMPIPE_CLAIMED);
    } else if (sscanf(what, "process %d", &pid) == 1) {
        name_process(f, pid, MEMPIPE_LIVE);
    } else if (sscanf(what, "pid %d", &pid) == 1) {
        f->q.p->pid = pid;
    } else if (!strcmp(what, "ended")) {
        f->q.p->state = MEMPIPE_ENDED;
        producer_ring(&f->q);
    } else if (!strcmp(what, "zero")) {
        const uint32_t width = f->q.shared->addr_bytes;

        memset(shared, 0, sizeof(*f->q.shared));
        f->q.shared->addr_bytes = width; /* this process divides by it, too */
    } else if (!strcmp(what, "ones")) {
        memset(shared, 0xff, sizeof(*f->q.shared));
    } else if (!strcmp(what, "ids")) {
        memset(f->q.base + f->q.ctl->ids_off, 0, MEMPIPE_ID_PAGES);
        f->q.next_id = 0;
    } else if (!strcmp(what, "epochs")) {
        make_epochs(f, 200000);
    } else if (!strcmp(what, "pipes")) {
        memset(producer_pipe(&f->q, 0), 0xff, 8 * sizeof(struct mempipe_pipe));
    } else if (!strcmp(what, "buffers")) {
        memset(f->q.buffers, 0xff, 64 * sizeof(f->q.buffers[0]));
    } else {
        return false;
    }
    return true;
}
