/* SPDX-License-Identifier: MIT */
/* Functions that are called by others; a test records only some of them. */
__attribute__((noipa)) int add(int i, int v)
{
    return i + v;
}

int inner(int n);

__attribute__((noipa)) int through(int n)
{
    return n ? inner(n - 1) + 1 : 0;
}

__attribute__((noipa)) int inner(int n)
{
    return through(n) + 1;
}

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 6; i++) {
        sum = add(i, sum);
    }
    sum += inner(2);
    return add(6, sum) != 26;
}
