/* SPDX-License-Identifier: MIT */
/*
 * Packets of gdb's remote protocol over a pair of descriptors: "$DATA#SUM", acknowledged by
 * '+' or '-' unless that was switched off.  See "Overview" of the protocol in gdb's manual.
 */
#ifndef TRACEGDB_PACKET_H
#define TRACEGDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_MOST 0x10000u /* bytes of DATA that the peer may send */

struct packet_link {
    int in, out; /* descriptors, not owned */
    bool no_ack;
    /* private */
    uint8_t buf[4096];
    size_t at, n;
    char data[PACKET_MOST + 1];
};

/* What packet_read found. */
enum packet_got {
    PACKET_DATA,
    PACKET_INTERRUPT, /* the user wants to stop what runs */
    PACKET_END,       /* the connection ended */
    PACKET_FAILED,    /* errno; EMSGSIZE: a packet is too long */
};

void packet_init(struct packet_link *l, int in, int out);

/* Waits for the next packet: its data, with a NUL after it, until the next call.  Requests
 * a damaged one again. */
enum packet_got packet_read(struct packet_link *l, char **data, size_t *n);

/* Sends a packet, with bytes that have a meaning in the protocol escaped, and waits until it
 * is acknowledged.  False: the connection is gone, or errno. */
bool packet_send(struct packet_link *l, const void *data, size_t n);

/* Whether the peer wants to stop what runs, or is gone; does not wait.  Anything else that it
 * sent stays there. */
bool packet_interrupted(struct packet_link *l);

/* The value of a hexadecimal digit; -1: it is none. */
int packet_hex_digit(int c);

#endif
