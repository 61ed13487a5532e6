/* SPDX-License-Identifier: MIT */
/* Signal numbers of Linux by family of machines, and the codes of signals. */
#include "guest/guest.h"

#include <stdio.h>
#include <string.h>

#define FIRST_REALTIME 32u
#define LAST_SIGNAL 127u

/* clang-format off */
static const struct signal_row {
    const char *name;
    uint8_t number[GUEST_NR_NUMBERS]; /* 0: does not exist */
} signals[] = {
    {"SIGHUP", {1, 1, 1, 1, 1}},
    {"SIGINT", {2, 2, 2, 2, 2}},
    {"SIGQUIT", {3, 3, 3, 3, 3}},
    {"SIGILL", {4, 4, 4, 4, 4}},
    {"SIGTRAP", {5, 5, 5, 5, 5}},
    {"SIGABRT", {6, 6, 6, 6, 6}},
    {"SIGBUS", {7, 10, 10, 10, 10}},
    {"SIGFPE", {8, 8, 8, 8, 8}},
    {"SIGKILL", {9, 9, 9, 9, 9}},
    {"SIGUSR1", {10, 16, 30, 30, 16}},
    {"SIGSEGV", {11, 11, 11, 11, 11}},
    {"SIGUSR2", {12, 17, 31, 31, 17}},
    {"SIGPIPE", {13, 13, 13, 13, 13}},
    {"SIGALRM", {14, 14, 14, 14, 14}},
    {"SIGTERM", {15, 15, 15, 15, 15}},
    {"SIGSTKFLT", {16, 0, 0, 0, 7}},
    {"SIGCHLD", {17, 18, 20, 20, 18}},
    {"SIGCONT", {18, 25, 19, 19, 26}},
    {"SIGSTOP", {19, 23, 17, 17, 24}},
    {"SIGTSTP", {20, 24, 18, 18, 25}},
    {"SIGTTIN", {21, 26, 21, 21, 27}},
    {"SIGTTOU", {22, 27, 22, 22, 28}},
    {"SIGURG", {23, 21, 16, 16, 29}},
    {"SIGXCPU", {24, 30, 24, 24, 12}},
    {"SIGXFSZ", {25, 31, 25, 25, 30}},
    {"SIGVTALRM", {26, 28, 26, 26, 20}},
    {"SIGPROF", {27, 29, 27, 27, 21}},
    {"SIGWINCH", {28, 20, 28, 28, 23}},
    {"SIGIO", {29, 22, 23, 23, 22}},
    {"SIGPWR", {30, 19, 29, 29, 19}},
    {"SIGSYS", {31, 12, 12, 12, 31}},
    {"SIGEMT", {0, 7, 7, 7, 0}},
};

/* si_code of signals that the system raises, by name of the signal */
static const struct code {
    const char *signal;
    int first; /* code of the first name */
    const char *names[10];
} codes[] = {
    {"SIGILL", 1, {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC",
                   "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"}},
    {"SIGFPE", 1, {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND",
                   "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"}},
    {"SIGSEGV", 1, {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR",
                    "SEGV_ACCADI", "SEGV_ADIDERR", "SEGV_ADIPERR", "SEGV_MTEAERR",
                    "SEGV_MTESERR"}},
    {"SIGBUS", 1, {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR",
                   "BUS_MCEERR_AO"}},
    {"SIGTRAP", 1, {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK"}},
    {"SIGCHLD", 1, {"CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED",
                    "CLD_CONTINUED"}},
    {"SIGSYS", 1, {"SYS_SECCOMP", "SYS_USER_DISPATCH"}},
    /* of every signal: how it was sent */
    {NULL, -6, {"SI_TKILL", "SI_SIGIO", "SI_ASYNCIO", "SI_MESGQ", "SI_TIMER", "SI_QUEUE",
                "SI_USER"}},
    {NULL, 0x80, {"SI_KERNEL"}},
};
/* clang-format on */

static const char *constant_name(const struct guest *g, unsigned number)
{
    for (size_t i = 0; number && i < sizeof(signals) / sizeof(*signals); i++) {
        if (signals[i].number[g->abi->numbers] == number) {
            return signals[i].name;
        }
    }
    return NULL;
}

const char *guest_signal_name(const struct guest *g, unsigned number, char *buf)
{
    const char *name = constant_name(g, number);

    if (name) {
        return name;
    }
    if (number == FIRST_REALTIME) {
        return "SIGRTMIN";
    }
    snprintf(buf, GUEST_SIGNAL_MAX,
             number > FIRST_REALTIME && number <= LAST_SIGNAL ? "SIGRT_%u" : "%u",
             number > FIRST_REALTIME && number <= LAST_SIGNAL ? number - FIRST_REALTIME
                                                              : number);
    return buf;
}

const char *guest_signal_code(const struct guest *g, unsigned number, int code)
{
    const char *name = constant_name(g, number);
    /* MIPS has these two swapped. */
    bool swap = g->abi->numbers == GUEST_MIPS && (code == -2 || code == -4);
    int look = swap ? -6 - code : code;

    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        const struct code *c = &codes[i];
        int nr = look - c->first;
        if (c->signal && (!name || strcmp(c->signal, name) != 0)) {
            continue;
        }
        if (nr >= 0 && nr < 10 && c->names[nr]) {
            return c->names[nr];
        }
    }
    return NULL;
}
