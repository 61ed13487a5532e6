/* SPDX-License-Identifier: MIT */
/* Calls itself 1,100 times, then is ended by a signal: deep (n=0) is the innermost. */
static volatile int *volatile nowhere;

__attribute__((noipa)) static int deep(int n)
{
    return n ? deep(n - 1) + 1 : *nowhere;
}

int main(void)
{
    return deep(1100);
}
