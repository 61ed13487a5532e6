/* SPDX-License-Identifier: MIT */
/* Functions that end by a jump to another one, with other arguments. */
__attribute__((noinline)) int leaf(int a, int b)
{
    __asm__ volatile("");
    return a * b;
}

__attribute__((noinline)) int middle(int x)
{
    __asm__ volatile("");
    return leaf(x + 1, 7);
}

__attribute__((noinline)) int outer(int x, int y)
{
    __asm__ volatile("");
    return middle(x + y);
}

int main(void)
{
    return middle(5) + outer(1, 2) != 70;
}
