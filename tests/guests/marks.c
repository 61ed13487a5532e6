/* SPDX-License-Identifier: MIT */
/*
 * A program of a machine's Linux that marks the machine's recording. It executes as many
 * instructions when there is none: it does not look at the result.
 */
#define CANNOLI_GUEST_MACHINE
#include "../../include/cannoli/guest.h"

int main(void)
{
    (void)cannoli_mark("a program of its Linux", 0x12345678);
    return 0;
}
