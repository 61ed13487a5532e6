/* SPDX-License-Identifier: MIT */
/* Objects and types of many kinds; layout[] has what the compiler says of them. */
#include <stddef.h>
#include <stdint.h>

typedef unsigned int word_t;
enum color { RED, GREEN = 5, BLUE = -2 };

struct node {
    struct node *next;
    char name[8];
    const word_t *words;
};

struct bits {
    unsigned a : 3;
    unsigned b : 11;
    int c : 7;
    unsigned long long d : 40;
    unsigned char e;
};

struct __attribute__((packed)) packed {
    char c;
    uint32_t u;
    unsigned x : 5;
    unsigned y : 17;
};

struct outer {
    int first;
    union {
        struct {
            short low, high;
        };
        uint32_t both;
    };
    struct node nodes[3];
    int grid[2][3];
    int (*call)(struct outer *, int, ...);
    enum color color;
    double real;
    _Bool yes;
    char rest[];
};

struct node list = {&list, "node", NULL};
struct bits bits = {5, 0x2a5, -3, 0x9182736455ull, 0x7e};
struct packed packed = {'p', 0x12345678, 21, 0x1abcd};
struct outer outer = {.first = 0x11223344,
                      .both = 0x55667788,
                      .nodes = {{0}, {.name = "two"}, {0}},
                      .grid = {{1, 2, 3}, {4, 5, 6}},
                      .color = BLUE,
                      .yes = 1};
const volatile long total[4] = {1, 2, 3, 4};
static int hidden = 7;
__thread int mine = 9;
static __thread long long own = 8;
int uninitialized[100];
extern int alias __attribute__((alias("shared")));
int shared = 3;

const unsigned long layout[] = {
    sizeof(struct node),
    offsetof(struct node, words),
    sizeof(struct bits),
    sizeof(struct packed),
    sizeof(struct outer),
    offsetof(struct outer, both),
    offsetof(struct outer, nodes[2].name),
    offsetof(struct outer, grid[1][2]),
    offsetof(struct outer, call),
    offsetof(struct outer, real),
    offsetof(struct outer, rest),
};

static __attribute__((noinline)) int tick(int step)
{
    static int count;
    count += step;
    own += step;
    return count;
}

__attribute__((noinline)) int tock(void)
{
    static int count = 5;
    return ++count;
}

__attribute__((noinline)) long sum(struct node *n, const char *text, double factor,
                                   int last)
{
    long result = hidden + own;
    for (int i = 0; i < last; i++) {
        int twice = 2 * i;
        result += twice + text[i % 2] + (long)factor + n->name[0];
    }
    return result;
}

__attribute__((noinline)) int many(const char *format, ...)
{
    return format[0];
}

int main(int argc, char **argv)
{
    (void)argv;
    return (int)(tick(argc) + tock() + sum(&list, "ab", 2.5, argc) + many("x", 1) + mine +
                 total[argc] + uninitialized[argc] + (int)bits.a);
}
