/* SPDX-License-Identifier: MIT */
/*
 * For record-args.sh: programs with unusual arguments.  Each prints one line, its pid and its
 * arguments in hexadecimal ("-": an empty one).
 *
 *   tree        starts itself (the path in GUEST) with lists of arguments, one after the
 *               other, and forks
 *   late        its first thread ends; then the second one forks
 *   spin N      makes N loads and stores at addresses that cannot be predicted
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDED 4096 /* bytes of arguments that a trace has */

static int my_argc;
static char **my_argv;
static pthread_t first;

static void print_args(void)
{
    size_t need = 40;
    char *line, *p;

    for (int i = 0; i < my_argc; i++) {
        need += 2 * strlen(my_argv[i]) + 2;
    }
    p = line = malloc(need);
    if (!line) {
        _exit(1);
    }
    p += sprintf(p, "%d", (int)getpid());
    for (int i = 0; i < my_argc; i++) {
        *p++ = ' ';
        if (!my_argv[i][0]) {
            *p++ = '-';
        }
        for (const unsigned char *s = (const unsigned char *)my_argv[i]; *s; s++) {
            p += sprintf(p, "%02x", *s);
        }
    }
    *p++ = '\n';
    if (write(1, line, (size_t)(p - line)) != p - line) {
        _exit(1);
    }
    free(line);
}

/* argv NULL: a child that goes on as this program. */
static void child(char **argv)
{
    int pid = fork();

    if (pid == 0) {
        if (argv) {
            execv(getenv("GUEST"), argv);
            _exit(1);
        }
        print_args();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, NULL, 0) != pid) {
        _exit(1);
    }
}

static void tree(void)
{
    static char full[RECORDED + 1000], fits[RECORDED], over[RECORDED];
    static char *many[5001];
    char *lists[][6] = {
        {NULL},
        {"", NULL},
        {"name", "", "", NULL},
        {"two words", "a\nb", "tab\t", "\033[31m", "it's \"so\" $HOME `x` \\", NULL},
        {"\xc3\xa4", "\xe6\x97\xa5\xe6\x9c\xac", "\xff\xfe", "\xc2\x85", NULL},
        {"dir/base", "*", "~", "-x", "a,b", NULL},
        {"full", full, "more", NULL},
        {"fits", fits, NULL},
        {"over", over, NULL},
        {"fits", fits, "", NULL},
    };

    memset(full, 'f', sizeof(full) - 1);
    memset(fits, 'x', RECORDED - 5 - 1);
    memset(over, 'x', RECORDED - 5);
    for (unsigned i = 0; i < 5000; i++) {
        many[i] = i ? "y" : "many";
    }
    child(NULL);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        child(lists[i]);
    }
    child(many);
    memset(many + 1, 0, sizeof(*many));
    child(many);
}

static void *late(void *arg)
{
    pthread_join(first, NULL);
    child(NULL);
    exit(0);
    return arg;
}

__attribute__((noinline)) void spin(unsigned n);

void spin(unsigned n)
{
    static volatile uint32_t memory[1 << 16];
    uint32_t at = 1;

    while (n--) {
        at = at * 1664525u + 1013904223u;
        memory[at >> 16] += at;
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;

    my_argc = argc;
    my_argv = argv;
    print_args();
    if (!strcmp(what, "tree")) {
        tree();
    } else if (!strcmp(what, "spin")) {
        spin((unsigned)atoi(argv[2]));
    } else if (!strcmp(what, "late")) {
        first = pthread_self();
        if (pthread_create(&thread, NULL, late, NULL)) {
            return 1;
        }
        pthread_exit(NULL);
    }
    return 0;
}
