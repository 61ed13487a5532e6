/* SPDX-License-Identifier: MIT */
/*
 * Lines that wait for their place, see held.h: a list of blocks with whole lines.  The
 * blocks of a queue that are in the file are before those that never were; each is read
 * back when its first line is next.
 */
#include "dump/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump_priv.h"

/* Blocks of a thread with few lines are small; one line can be larger than both. */
#define BLOCK_MIN 512u
#define BLOCK_MAX (64u << 10)

struct held_block {
    struct held_block *next;
    char *data; /* NULL: in the file only */
    size_t cap, len, pos;
    bool stored;  /* in the file, at `off'; no line is added */
    uint64_t off; /* of data[0] in the file */
    uint64_t ns;  /* time of the line at `pos' */
};

struct line_head {
    uint64_t ns;
    uint64_t len; /* of the text that follows */
};

void held_pool_init(struct held_pool *p)
{
    *p = (struct held_pool){.fd = -1};
}

void held_pool_fini(struct held_pool *p)
{
    if (p->fd >= 0) {
        close(p->fd);
    }
    held_pool_init(p);
}

/* Frees the data of a block, not what the file has of it. */
static void drop_data(struct held_pool *p, struct held_block *b)
{
    if (b->data) {
        p->bytes -= b->cap;
        free(b->data);
        b->data = NULL;
    }
}

static bool allocate_data(struct held_pool *p, struct held_block *b)
{
    b->data = malloc(b->cap);
    p->bytes += b->data ? b->cap : 0;
    return b->data != NULL;
}

static void remove_first(struct held_pool *p, struct held_queue *q)
{
    struct held_block *b = q->first;

    q->first = b->next;
    q->last = q->first ? q->last : NULL;
    drop_data(p, b);
    free(b);
}

void held_clear(struct held_pool *p, struct held_queue *q)
{
    while (q->first) {
        remove_first(p, q);
    }
}

bool held_is_empty(const struct held_queue *q)
{
    return !q->first;
}

uint64_t held_time(const struct held_queue *q)
{
    return q->first->ns;
}

/* Appends a block with room for `need' bytes; false: no memory. */
static bool add_block(struct held_pool *p, struct held_queue *q, size_t need)
{
    struct held_block *b = calloc(1, sizeof(*b));
    size_t cap = q->last ? 2 * q->last->cap : BLOCK_MIN;

    if (!b) {
        return false;
    }
    cap = cap > BLOCK_MAX ? BLOCK_MAX : cap;
    b->cap = cap < need ? need : cap;
    if (!allocate_data(p, b)) {
        free(b);
        return false;
    }
    *(q->last ? &q->last->next : &q->first) = b;
    q->last = b;
    return true;
}

int held_push(struct held_pool *p, struct held_queue *q, uint64_t ns, const char *text,
              size_t len)
{
    struct line_head head = {.ns = ns, .len = len};
    struct held_block *b = q->last;

    if (!b || b->stored || b->cap - b->len < sizeof(head) + len) {
        if (!add_block(p, q, sizeof(head) + len)) {
            return DUMP_STOP_NOMEM;
        }
        b = q->last;
        b->ns = ns;
    }
    memcpy(b->data + b->len, &head, sizeof(head));
    memcpy(b->data + b->len + sizeof(head), text, len);
    b->len += sizeof(head) + len;
    return 0;
}

static int fail(struct held_pool *p, int sys_errno)
{
    p->sys_errno = sys_errno;
    return DUMP_STOP_HELD;
}

/* Reads a block back; 0 or an enum dump_stop. */
static int load(struct held_pool *p, struct held_block *b)
{
    size_t done = b->pos;

    if (b->data) {
        return 0;
    }
    if (!allocate_data(p, b)) {
        return DUMP_STOP_NOMEM;
    }
    while (done < b->len) {
        ssize_t n = pread(p->fd, b->data + done, b->len - done, (off_t)(b->off + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail(p, n ? errno : EIO);
        }
        done += (size_t)n;
    }
    return 0;
}

int held_first(struct held_pool *p, struct held_queue *q, const char **text, size_t *len)
{
    struct held_block *b = q->first;
    struct line_head head;
    int ret = load(p, b);

    if (!ret) {
        memcpy(&head, b->data + b->pos, sizeof(head));
        *text = b->data + b->pos + sizeof(head);
        *len = head.len;
    }
    return ret;
}

void held_pop(struct held_pool *p, struct held_queue *q)
{
    struct held_block *b = q->first;
    struct line_head head;

    memcpy(&head, b->data + b->pos, sizeof(head));
    b->pos += sizeof(head) + head.len;
    if (b->pos == b->len) {
        remove_first(p, q);
    } else {
        memcpy(&head, b->data + b->pos, sizeof(head));
        b->ns = head.ns;
    }
}

/* Opens a temporary file without a name; 0 or DUMP_STOP_HELD. */
static int open_file(struct held_pool *p)
{
    const char *dir = getenv("TMPDIR");
    char name[4096];
    int n = snprintf(name, sizeof(name), "%s/cannoli-lines.XXXXXX",
                     dir && *dir ? dir : "/tmp");

    if (n < 0 || (size_t)n >= sizeof(name)) {
        return fail(p, ENAMETOOLONG);
    }
    p->fd = mkostemp(name, O_CLOEXEC);
    if (p->fd < 0) {
        return fail(p, errno);
    }
    unlink(name);
    return 0;
}

static int store_block(struct held_pool *p, struct held_block *b)
{
    size_t done = b->pos;

    b->off = p->stored_bytes - b->pos; /* wraps around; what is before pos is not read */
    while (done < b->len) {
        ssize_t n = pwrite(p->fd, b->data + done, b->len - done, (off_t)(b->off + done));
        if (n < 0 && errno != EINTR) {
            return fail(p, errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    p->stored_bytes += b->len - b->pos;
    b->stored = true;
    return 0;
}

int held_store(struct held_pool *p, struct held_queue *q)
{
    int ret = p->fd < 0 ? open_file(p) : 0;

    for (struct held_block *b = q->first; b && !ret; b = b->next) {
        if (!b->stored) {
            ret = store_block(p, b);
        }
        if (!ret) {
            drop_data(p, b);
        }
    }
    return ret;
}
