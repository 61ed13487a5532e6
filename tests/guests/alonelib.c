/* SPDX-License-Identifier: MIT */
/* The libraries of alone.c: libnear.so, and with FAR libfar.so. */
struct alone_item {
    int number;
    const char *name;
};

#ifdef FAR
typedef int value_function(int number);
int far_value(value_function *value, int number);

static struct alone_item far_items[] = {{7, "seven"}, {8, "eight"}, {9, "nine"}};
int far_calls;

int far_value(value_function *value, int number)
{
    struct alone_item *item = &far_items[number % 3];

    item->number += value(number);
    return item->number + ++far_calls;
}
#else
int near_value(int number);

static const struct alone_item near_items[] = {{1, "one"}, {2, "two"}, {3, "three"}};
int near_calls;
struct alone_item near_last;

static __attribute__((noinline)) int count(int number)
{
    near_calls++;
    return number * 3;
}

int near_value(int number)
{
    near_last = near_items[number % 3];
    return count(number) + near_last.number;
}
#endif
