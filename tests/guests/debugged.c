/* SPDX-License-Identifier: MIT */
/*
 * A program to look at in a debugger, which it gives work for a long time: variables of all
 * kinds, structures, calls that are nested, recursive and through pointers, loops, the heap.
 * Built with -g.  It makes no system call while it works, and uses a stack that it has
 * written before: what nothing ever wrote there is not in a trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 6
#define CELLS 24

enum colour { RED, GREEN, BLUE };

struct node {
    struct node *next;
    long key;
    char name[12];
    enum colour colour;
    union {
        float real;
        unsigned bits;
    } value;
};

static const char *const names[NAMES] = {"one", "three", "nine", "", "eleven", "two"};
static struct node pool[CELLS];
static struct node *list;
static int counts[NAMES];
static short table[4][3];
static double average;
static unsigned long long total;
static unsigned rounds;
char text[64];
unsigned char *heap;

static unsigned next_number(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16 & 0x7fff;
}

static struct node *insert(struct node *head, struct node *fresh)
{
    struct node **at = &head;

    while (*at && (*at)->key < fresh->key) {
        at = &(*at)->next;
    }
    fresh->next = *at;
    *at = fresh;
    return head;
}

static struct node *make_list(unsigned *state)
{
    struct node *head = NULL;

    for (int i = 0; i < CELLS; i++) {
        struct node *fresh = &pool[i];
        const unsigned number = next_number(state);

        memset(fresh, 0, sizeof(*fresh));
        fresh->key = (long)number - 16000;
        strcpy(fresh->name, names[number % NAMES]);
        fresh->colour = (enum colour)(number % 3);
        fresh->value.real = (float)number / 8;
        head = insert(head, fresh);
        counts[number % NAMES]++;
    }
    return head;
}

static long sum_list(const struct node *head)
{
    long sum = 0;

    for (const struct node *n = head; n; n = n->next) {
        sum += n->key;
    }
    return sum;
}

static int ways(int rows, int columns)
{
    int left, up;

    if (!rows || !columns) {
        return 1;
    }
    left = ways(rows, columns - 1);
    up = ways(rows - 1, columns);
    return left + up;
}

static int by_value(int value)
{
    value = value * 3 + 1;
    return value;
}

static int by_table(int value)
{
    table[value & 3][value % 3] += (short)value;
    return table[value & 3][value % 3];
}

static int (*const choices[2])(int value) = {by_value, by_table};

static double mean(const int *numbers, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += numbers[i];
    }
    return sum / n;
}

static void spell(char *out, unsigned number)
{
    char *begin = out;

    do {
        *out++ = (char)('a' + number % 26);
        number /= 26;
    } while (number);
    *out = 0;
    memcpy(heap + 32, begin, (size_t)(out - begin + 1));
}

static unsigned long long mix(unsigned char a, short b, int c, long long d)
{
    const unsigned long long parts[3] = {a, (unsigned short)b, (unsigned)c};
    unsigned long long result = (unsigned long long)d;

    for (int i = 0; i < 3; i++) {
        result = (result << 7 | result >> 57) ^ parts[i];
    }
    return result;
}

static void work(unsigned *state)
{
    unsigned number;
    int value;

    list = make_list(state);
    number = next_number(state);
    value = choices[number & 1]((int)(number % 100));
    value += ways(2, (int)(number % 3) + 1);
    spell(text, number + (unsigned)value);
    average = mean(counts, NAMES);
    total += (unsigned long long)sum_list(list);
    total ^= mix((unsigned char)number, (short)-value, value, (long long)total);
    heap[number % 32] = (unsigned char)value;
    rounds++;
}

static void fill_stack(void)
{
    char local[8192];

    memset(local, 0x11, sizeof(local));
    text[0] = local[sizeof(text)];
}

int main(int argc, char **argv)
{
    unsigned state = 20;

    (void)argc;
    (void)argv;
    fill_stack();
    heap = malloc(64);
    memset(heap, '.', 64);
    while (rounds < 400) {
        work(&state);
    }
    printf("%u rounds, %llu\n", rounds, total);
    return 0;
}
