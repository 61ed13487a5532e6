/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes that share memory, and race for it: with loads and stores,
 * atomically, with mutexes, conditions and semaphores, with a pipe that is read into the
 * shared memory, with flags that they spin on, and while signals arrive. All words of
 * `shared' but the first page's are only accessed by instructions and by reads from pipes.
 *
 *   turns            all of that
 *   turns lost N     two threads add N times each, not atomically; prints the sum
 *   turns switch     threads that wait for each other only, and use no clock
 *   turns compute    three children compute; prints how many of them ended well
 */
#include "guest.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#define THREADS 5
#define CHILDREN 2
#define ALL (THREADS + CHILDREN)
#define ROUNDS 60

/* The first page is for the C library's and the system's own words. */
struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t more;
    sem_t ping, pong;
    unsigned count;
};

volatile uint32_t shared[16384] __attribute__((aligned(65536)));
#define MEETING ((struct meeting *)shared)
#define WORDS (shared + 4096)
static int ring[2];
static volatile unsigned ticks;

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static NOINLINE uint32_t race(uint32_t *seed, unsigned n)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < n; i++) {
        uint32_t r = next(seed);
        volatile uint32_t *word = WORDS + r % 64;

        switch (r >> 8 & 3) {
        case 0:
            sum += *word;
            break;
        case 1:
            *word = r;
            break;
        case 2:
            *word = *word + 1;
            break;
        default:
            sum += __atomic_fetch_add((uint32_t *)word, 1, __ATOMIC_SEQ_CST);
        }
    }
    return sum;
}

static void meet(void)
{
    pthread_mutex_lock(&MEETING->lock);
    MEETING->count++;
    if (MEETING->count % 2) {
        pthread_cond_broadcast(&MEETING->more);
    } else {
        pthread_cond_signal(&MEETING->more);
    }
    pthread_mutex_unlock(&MEETING->lock);
}

/* One writes numbers into a pipe, another one reads them to where all look. */
static void pipe_round(unsigned who, unsigned round)
{
    uint32_t number[3] = {round, who, round * 7};
    uint32_t *to = (uint32_t *)WORDS + 128;

    if (who == 0) {
        if (write(ring[1], number, sizeof(number)) != sizeof(number)) {
            _exit(71);
        }
    } else if (who == 1) {
        if (read(ring[0], to, sizeof(number)) != sizeof(number)) {
            _exit(72);
        }
        WORDS[140] = WORDS[128] + 1;
    } else {
        number[0] = WORDS[128] + WORDS[130] + WORDS[140];
        WORDS[141] = number[0];
    }
}

/* Each waits, without a system call, until the one before has been there. */
static void spin_round(unsigned who, unsigned round)
{
    while (WORDS[200] != round * ALL + who) {
        if (who % 2) {
            sched_yield();
        }
    }
    WORDS[201 + who] = round;
    WORDS[200] = round * ALL + who + 1;
}

static void all_rounds(unsigned who)
{
    uint32_t seed = who + 1;

    for (unsigned round = 0; round < ROUNDS; round++) {
        WORDS[300 + who] = race(&seed, 20 + 3 * who);
        meet();
        pipe_round(who, round);
        if (round % 10 == 0) {
            spin_round(who, round / 10);
        }
        if (who < 2) {
            sem_t *mine = who ? &MEETING->ping : &MEETING->pong;
            sem_t *other = who ? &MEETING->pong : &MEETING->ping;

            sem_post(other);
            while (sem_wait(mine)) {
            }
        }
    }
}

static void *work(void *arg)
{
    all_rounds((unsigned)(uintptr_t)arg);
    return arg;
}

static void tick(int sig)
{
    ticks++;
    WORDS[500] = WORDS[500] + 1;
}

static int everything(void)
{
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    pthread_t t[THREADS];
    pid_t child[CHILDREN];
    int status, failed = 0;

    if (mmap((void *)shared, sizeof(shared), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
        pipe(ring)) {
        return 1;
    }
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&MEETING->lock, &ma);
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&MEETING->more, &ca);
    sem_init(&MEETING->ping, 1, 0);
    sem_init(&MEETING->pong, 1, 0);
    for (unsigned i = 0; i < CHILDREN; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            all_rounds(THREADS + i);
            _exit(0);
        }
    }
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, work, (void *)i)) {
            return 1;
        }
    }
    pthread_mutex_lock(&MEETING->lock);
    while (MEETING->count < ALL * ROUNDS) {
        pthread_cond_wait(&MEETING->more, &MEETING->lock);
    }
    pthread_mutex_unlock(&MEETING->lock);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        while (waitpid(child[i], &status, 0) < 0) {
        }
        failed |= status != 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("met %u times\n", MEETING->count);
    return failed;
}

static void *lose(void *arg)
{
    for (unsigned i = 0; i < (uintptr_t)arg; i++) {
        WORDS[0] = WORDS[0] + 1;
    }
    return NULL;
}

static int lost(unsigned n)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++) {
        if (pthread_create(&t[i], NULL, lose, (void *)(uintptr_t)n)) {
            return 1;
        }
    }
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("%u\n", (unsigned)WORDS[0]);
    return 0;
}

static void *hand_over(void *arg)
{
    unsigned who = (unsigned)(uintptr_t)arg;
    uint32_t seed = who;

    for (unsigned i = 0; i < ROUNDS; i++) {
        WORDS[300 + who] += race(&seed, 40);
        pthread_mutex_lock(&MEETING->lock);
        MEETING->count++;
        while (MEETING->count < (i + 1) * THREADS) {
            pthread_cond_wait(&MEETING->more, &MEETING->lock);
        }
        pthread_cond_broadcast(&MEETING->more);
        pthread_mutex_unlock(&MEETING->lock);
    }
    return NULL;
}

static int switches(void)
{
    pthread_t t[THREADS];
    uint32_t sum = 0;

    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, hand_over, (void *)i)) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        sum = sum * 3 + WORDS[300 + i];
    }
    printf("%u\n", (unsigned)sum);
    return 0;
}

static int compute(void)
{
    pid_t child[3];
    int status, well = 0;

    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            for (uint32_t n = 0; n < 60000000; n++) {
                WORDS[i] += n;
            }
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++) {
        waitpid(child[i], &status, 0);
        well += status == 0;
    }
    printf("%d well\n", well);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "lost") == 0) {
        return lost((unsigned)atoi(argv[2]));
    }
    if (argc > 1) {
        return strcmp(argv[1], "compute") == 0 ? compute() : switches();
    }
    return everything();
}
