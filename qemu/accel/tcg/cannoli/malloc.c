/*
 * Execution tracing into shared memory: the heap of libraries
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a library allocates, itself or by what it calls, must neither occupy
 * address space that the guest would get nor change what the C library's
 * allocator does for QEMU: when that maps memory depends on all earlier
 * allocations.  So malloc and the others are defined here, in the program,
 * where the dynamic linker finds them first.  For a thread with cannoli_apart
 * set (far.h) they use a region that is reserved before the guest runs; for all
 * others they call the C library's, after one test.  Blocks of either kind may
 * be freed by anybody.
 *
 * The region grows at its end, by blocks of some 160 sizes, four for each power
 * of two.  A freed block waits for a request of its size; the memory of a large
 * one is released at once.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/host-utils.h"
#include "cpu.h"
#include "far.h"

#if defined(CONFIG_CANNOLI_HEAP) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define HEAP_BYTES    (64ull << 30)
#define LIMITED_BYTES (64ull << 20) /* with a limit on address space */
#define STEP          (1ull << 20)
#define LARGE         (256 * 1024)
#define NR_SIZES      192
#define ALIGN         16
#define MAGIC         0x6c6c6168u

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *p);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

/* Before each block's memory. */
typedef struct Header {
    uint32_t magic;
    uint32_t size;   /* which */
    uint64_t before; /* bytes from the start of the block to here */
} Header;
QEMU_BUILD_BUG_ON(sizeof(Header) != ALIGN);

static struct {
    uint8_t *base;
    size_t bytes, used, open;
    void *spare[NR_SIZES]; /* freed blocks: the memory begins with the next */
    pthread_mutex_t lock;
} heap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_ours(const void *p)
{
    return (uintptr_t)p - (uintptr_t)heap.base < heap.bytes;
}

/* Which size holds so many bytes, and how many that are. */
static unsigned size_for(size_t n, size_t *bytes)
{
    unsigned shift;

    n = ROUND_UP(n, ALIGN);
    if (n <= 4 * ALIGN) {
        *bytes = n;
        return n / ALIGN;
    }
    /* between two powers of two: in quarters */
    shift = 63 - clz64(n - 1) - 2;
    *bytes = ROUND_UP(n, (size_t)1 << shift);
    return shift * 4 + (*bytes >> shift) - 5;
}

static size_t bytes_of(const Header *h)
{
    unsigned shift = h->size / 4;

    if (h->size <= 4) {
        return h->size * ALIGN;
    }
    return (size_t)(h->size % 4 + 5) << shift;
}

/* How much of the block can be used. */
static size_t usable(const Header *h)
{
    return bytes_of(h) - h->before - sizeof(*h);
}

static Header *header_of(void *p)
{
    Header *h = (Header *)p - 1;

    if (h->magic != MAGIC || h->size >= NR_SIZES) {
        static const char msg[] =
            "cannoli: a library frees what is no block of "
            "memory, or has overwritten its begin\n";

        if (write(STDERR_FILENO, msg, sizeof(msg) - 1)) {
            /* nothing can be done about it */
        }
        abort();
    }
    return h;
}

static bool grow(size_t upto)
{
    size_t open = MIN(ROUND_UP(upto, STEP), heap.bytes);

    if (upto > heap.bytes ||
        (upto > heap.open && mprotect(heap.base + heap.open, open - heap.open,
                                      PROT_READ | PROT_WRITE))) {
        return false;
    }
    heap.open = MAX(heap.open, open);
    return true;
}

/* NULL: no room.  fresh: it is all zeros. */
static void *allocate(size_t n, bool *fresh)
{
    size_t bytes;
    unsigned size;
    void *p = NULL;

    *fresh = false;
    if (n > heap.bytes) {
        return NULL;
    }
    size = size_for(n + sizeof(Header), &bytes);
    pthread_mutex_lock(&heap.lock);
    p = heap.spare[size];
    if (p) {
        heap.spare[size] = *(void **)p;
    } else if (grow(heap.used + bytes)) {
        Header *h = (Header *)(heap.base + heap.used);

        heap.used += bytes;
        *h = (Header){ .magic = MAGIC, .size = size };
        *fresh = true;
        p = h + 1;
    }
    pthread_mutex_unlock(&heap.lock);
    return p;
}

static void *allocate_aligned(size_t align, size_t n)
{
    uint8_t *p, *at;
    bool fresh;

    if (align <= ALIGN) {
        return allocate(n, &fresh);
    }
    p = n <= SIZE_MAX - align ? allocate(n + align, &fresh) : NULL;
    if (!p) {
        return NULL;
    }
    at = (uint8_t *)ROUND_UP((uintptr_t)p, align);
    if (at != p) {
        const Header *h = (Header *)p - 1;

        *((Header *)at - 1) = (Header){
            .magic = MAGIC,
            .size = h->size,
            .before = at - p,
        };
    }
    return at;
}

static void release(void *p)
{
    Header *h = header_of(p);
    uintptr_t page = qemu_real_host_page_size(), from, to;

    h = (Header *)((uint8_t *)h - h->before);
    h->magic = MAGIC;
    h->before = 0;
    p = h + 1;
    if (bytes_of(h) >= LARGE) {
        from = ROUND_UP((uintptr_t)p + sizeof(void *), page);
        to = ROUND_DOWN((uintptr_t)h + bytes_of(h), page);
        madvise((void *)from, to - from, MADV_DONTNEED);
    }
    pthread_mutex_lock(&heap.lock);
    *(void **)p = heap.spare[h->size];
    heap.spare[h->size] = p;
    pthread_mutex_unlock(&heap.lock);
}

static size_t usable_elsewhere(void *p)
{
    static size_t (*next)(void *);

    if (!next) {
        next = dlsym(RTLD_NEXT, "malloc_usable_size");
    }
    return next ? next(p) : 0;
}

/* ---- what the program and all libraries call ---- */

static inline bool wants_ours(void)
{
    return unlikely(cannoli_apart) && heap.bytes;
}

void *malloc(size_t n)
{
    bool fresh;
    void *p = wants_ours() ? allocate(n, &fresh) : NULL;

    return p ? p : __libc_malloc(n);
}

void free(void *p)
{
    if (unlikely(is_ours(p))) {
        int saved_errno = errno;

        release(p);
        errno = saved_errno;
    } else {
        __libc_free(p);
    }
}

void *calloc(size_t n, size_t bytes)
{
    size_t all;
    bool fresh;
    void *p;

    if (wants_ours() && !__builtin_mul_overflow(n, bytes, &all)) {
        p = allocate(all, &fresh);
        if (p) {
            return fresh ? p : memset(p, 0, all);
        }
    }
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t n)
{
    bool ours = is_ours(p), fresh;
    size_t old;
    void *new;

    if (likely(!ours && !wants_ours())) {
        return __libc_realloc(p, n);
    }
    if (!p) {
        return malloc(n);
    }
    if (!n) {
        free(p);
        return NULL;
    }
    old = ours ? usable(header_of(p)) : usable_elsewhere(p);
    if (ours && n <= old && (n >= old / 2 || old < LARGE)) {
        return p;
    }
    if (!ours && !old) {
        return __libc_realloc(p, n);
    }
    /* A block of ours stays one, whichever thread enlarges it. */
    new = allocate(n, &fresh);
    new = new ? new : __libc_malloc(n);
    if (new) {
        memcpy(new, p, MIN(old, n));
        free(p);
    }
    return new;
}

void *memalign(size_t align, size_t n)
{
    void *p = NULL;

    if (wants_ours() && align <= heap.bytes) {
        /* As the C library does: the next power of two. */
        p = allocate_aligned(align > 1 ? pow2ceil(align) : 1, n);
    }
    return p ? p : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **to, size_t align, size_t n)
{
    int saved_errno = errno;
    void *p;

    if (align % sizeof(void *) || !is_power_of_2(align)) {
        return EINVAL;
    }
    p = memalign(align, n);
    errno = saved_errno;
    if (!p) {
        return ENOMEM;
    }
    *to = p;
    return 0;
}

void *valloc(size_t n)
{
    return memalign(qemu_real_host_page_size(), n);
}

void *pvalloc(size_t n)
{
    size_t page = qemu_real_host_page_size();

    if (n > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return memalign(page, ROUND_UP(n, page));
}

size_t malloc_usable_size(void *p)
{
    if (!p) {
        return 0;
    }
    return is_ours(p) ? usable(header_of(p)) : usable_elsewhere(p);
}

/* mmap has two names, for one function where off_t has 64 bits. */
void *cannoli_heap_mmap(void *at, size_t n, int prot, int flags, int fd,
                        off_t offset);
void *heap_mmap_32(void *at, size_t n, int prot, int flags, int fd,
                   off_t offset) __asm__("mmap")
    __attribute__((alias("cannoli_heap_mmap")));
void *heap_mmap_64(void *at, size_t n, int prot, int flags, int fd,
                   off_t offset) __asm__("mmap64")
    __attribute__((alias("cannoli_heap_mmap")));

void *cannoli_heap_mmap(void *at, size_t n, int prot, int flags, int fd,
                        off_t offset)
{
    if (unlikely(cannoli_apart) && !at &&
        !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN))) {
        return cannoli_map_apart(n, prot, flags, fd, offset);
    }
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

/* ---- the region ---- */

static void lock_heap(void)
{
    pthread_mutex_lock(&heap.lock);
}

static void unlock_heap(void)
{
    pthread_mutex_unlock(&heap.lock);
}

void cannoli_heap_init(void)
{
    size_t bytes =
        cannoli_address_space_is_limited() ? LIMITED_BYTES : HEAP_BYTES;

    for (; bytes >= STEP; bytes /= 2) {
        void *p = cannoli_map_far(
            bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

        if (p != MAP_FAILED) {
            heap.base = p;
            heap.bytes = bytes;
            cannoli_far_zone(p);
            /* No thread changes it during a fork. */
            pthread_atfork(lock_heap, unlock_heap, unlock_heap);
            break;
        }
    }
}

#else

/* If another allocator comes first in symbol lookup, libraries use that one. */
void cannoli_heap_init(void)
{
}

#endif
