/* SPDX-License-Identifier: MIT */
/*
 * The siginfo_t of the signal that stopped the program, as Linux lays it out for the target.
 * Members that the trace does not have are zero: the times of SIGCHLD.  Of a SIGIO that says
 * which descriptor it is of, that is missing, so there is none.
 */
#include "session.h"

#include <string.h>

#include "cannoli/events.h"
#include "guest/guest.h"

#define GDB_SIGIO 23
#define GDB_SIGCHLD 20
#define CODE_KERNEL 0x80 /* SI_KERNEL; what is above 0 else is of the signal */

bool siginfo_get(const struct session *s, uint8_t out[SIGINFO_BYTES])
{
    const struct signal_stop *stop =
        s->here.last.why == STOP_SIGNAL && s->signals_of == s->here.process
            ? &s->signals[s->here.last.nr]
            : NULL;
    const struct guest *g = &s->guest;
    uint8_t *fields;
    unsigned word;

    if (!stop || (stop->number == GDB_SIGIO && stop->info.code > 0 &&
                  stop->info.code != CODE_KERNEL)) {
        return false;
    }
    memset(out, 0, SIGINFO_BYTES);
    guest_store(g, out, stop->info.signo, 4);
    /* si_errno, which is 0, is before si_code, except there. */
    guest_store(g, out + (g->abi && g->abi->numbers == GUEST_MIPS ? 4 : 8),
                (uint32_t)stop->info.code, 4);
    /* Of hppa, addresses have 64 bits, but programs 32. */
    word = g->abi && g->abi->numbers == GUEST_HPPA ? 4 : g->word;
    fields = out + (word == 8 ? 16 : 12);
    if (stop->info.flags & CTR_SIGNAL_SYNC && (stop->info.code > 0 || stop->info.addr)) {
        guest_store(g, fields, stop->info.addr, word);
        return true;
    }
    guest_store(g, fields, (uint32_t)stop->info.pid, 4);
    guest_store(g, fields + 4, stop->info.uid, 4);
    /* A status is an int. */
    guest_store(g, fields + 8, stop->info.value,
                stop->number == GDB_SIGCHLD && stop->info.code > 0 ? 4 : word);
    return true;
}
