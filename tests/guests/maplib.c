/* SPDX-License-Identifier: MIT */
/* The library that mappings.c opens: code, data, zeros and a table that becomes
 * read-only. */
static int zeros[5000];
static int data[3000] = {1, 2, 3};
static int *const pointers[] = {zeros, data};

int library_function(int n);

int library_function(int n)
{
    zeros[n] = data[n] + n;
    return *pointers[n & 1] + zeros[n];
}
