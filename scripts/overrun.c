/* SPDX-License-Identifier: MIT */
/* What demo.sh records: a name that is too long overwrites the pointer after it. */
#include <stdio.h>

struct account {
    char owner[8];
    long *balance;
};

static struct account accounts[2];
static long amounts[2];

static void open_account(int i, const char *owner)
{
    accounts[i].balance = &amounts[i];
    for (int k = 0; owner[k]; k++) {
        accounts[i].owner[k] = owner[k];
    }
}

static void deposit(const struct account *a, long amount)
{
    *a->balance += amount;
}

int main(void)
{
    open_account(0, "Ann");
    open_account(1, "Christopher");
    deposit(&accounts[0], 100);
    deposit(&accounts[1], 200);
    printf("%ld\n", amounts[0] + amounts[1]);
    return 0;
}
