/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads that say who they are, in a machine's Linux.
 *
 * To say a number is to execute the return instruction that has it, of a table at a fixed
 * address: a trace of instructions alone shows at which one who ran.  There is a table for
 * thread ids, one for process ids and one for names (name_of).  Tasks yield, sleep, wait
 * for each other and compute; they rename themselves, are made by fork, vfork, clone and
 * execve, also by an execve of a thread that is not its process's first.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBERS 8192 /* of each table, as below */
#define PROCESSES 4
#define THREADS 3

#if defined(__x86_64__)
#define RETURN "ret\n.balign 4, 0xcc\n"
#elif defined(__riscv)
#define RETURN ".option push\n.option norvc\nret\n.option pop\n"
#else
#define RETURN "ret\n"
#endif

/* table.py says where the section is. */
extern const char numbers[];
__asm__(".pushsection .numbers, \"ax\", %progbits\n"
        ".globl numbers\n"
        "numbers:\n"
        ".rept 3 * 8192\n" RETURN ".endr\n"
        ".popsection\n");

enum table { TID, PID, NAME };

static void say(enum table table, unsigned number)
{
    unsigned long at = (unsigned long)numbers + 4 * (table * NUMBERS + number);

    if (number >= NUMBERS) {
        _exit(2);
    }
    ((void (*)(void))at)();
}

/* The kernel keeps 15 bytes of it. */
static void name_of(char *to, size_t size, unsigned number)
{
    snprintf(to, size, number % 2 ? "%u, cut \"short\" by it" : "name-%u", number);
}

struct task {
    unsigned tid, pid, name, renames;
};

static void rename_it(struct task *t)
{
    char name[32];

    t->name = (t->tid * 41 + t->renames++ * 7) % NUMBERS;
    name_of(name, sizeof(name), t->name);
    prctl(PR_SET_NAME, name);
}

static struct task begin(void)
{
    struct task t = {(unsigned)syscall(SYS_gettid), (unsigned)getpid(), 0, 0};

    rename_it(&t);
    return t;
}

static void say_all(const struct task *t)
{
    say(TID, t->tid);
    say(PID, t->pid);
    say(NAME, t->name);
}

static void work(struct task *t, int rounds)
{
    const struct timespec pause = {0, 20000};

    for (int i = 0; i < rounds; i++) {
        say_all(t);
        switch ((unsigned)(i + (int)t->tid) % 8) {
        case 0:
            rename_it(t);
            break;
        case 3:
            nanosleep(&pause, NULL);
            break;
        case 5: /* others wake up, and it is preempted */
            for (int k = 0; k < 20; k++) {
                for (volatile int wait = 0; wait < 1000; wait++) {
                }
                say_all(t);
            }
            break;
        default:
            sched_yield();
        }
    }
    say_all(t);
}

static void *thread(void *arg)
{
    struct task t = begin();

    work(&t, *(const int *)arg);
    return NULL;
}

static void run_again(void)
{
    execl("/bin/name-4000", "again", NULL);
    _exit(3);
}

static void *thread_runs_again(void *arg)
{
    struct task t = begin();

    work(&t, *(const int *)arg);
    run_again();
    return NULL;
}

static void check(int ok)
{
    if (!ok) {
        _exit(4);
    }
}

static void wait_for(pid_t child)
{
    int status = -1;

    check(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* The child uses its parent's memory. */
static void __attribute__((noinline)) vfork_one(void)
{
    pid_t child = vfork();

    if (!child) {
        struct task t = begin();

        say_all(&t);
        _exit(0);
    }
    wait_for(child);
}

static void process(int number)
{
    static const int some = 130, forever = 1 << 30;
    pthread_t threads[THREADS];
    struct task t = begin();

    for (int i = 1; i < THREADS; i++) {
        check(!pthread_create(&threads[i], NULL,
                              number == 1 && i == 2 ? thread_runs_again : thread,
                              (void *)(number == 1 && i == 1 ? &forever : &some)));
    }
    work(&t, number == 1 ? forever : some);
    for (int i = 1; i < THREADS; i++) {
        check(!pthread_join(threads[i], NULL));
    }
    for (int i = 0; i < 3; i++) {
        vfork_one();
        say_all(&t);
    }
    if (number == 2) {
        run_again();
    }
    exit(0);
}

int main(int argc, char **argv)
{
    struct task t = {(unsigned)syscall(SYS_gettid), (unsigned)getpid(), 4000, 0};
    pid_t children[PROCESSES];

    if (argc && !strcmp(argv[0], "again")) {
        work(&t, 20);
        return 0;
    }
    t = begin();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (!children[i]) {
            process(i);
        }
    }
    say_all(&t);
    for (int i = 0; i < PROCESSES; i++) {
        wait_for(children[i]);
        say_all(&t);
    }
    return 0;
}
