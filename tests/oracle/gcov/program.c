/* SPDX-License-Identifier: MIT */
/*
 * A realistic program: an interpreter of sums, variables and loops, with a
 * tokenizer, a parser, a table of names and a sorted listing at the end.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, NAME, SIGN, END };

struct token {
    enum kind kind;
    long value;
    char text[16];
};

struct variable {
    char name[16];
    long value;
    unsigned uses;
    struct variable *next;
};

struct machine {
    const char *at;
    struct token now;
    struct variable *table[8];
    unsigned variables;
    unsigned errors;
    unsigned steps;
};

static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (*s) {
        h = h * 33 + (unsigned char)*s;
        s++;
    }
    return h % 8;
}

static struct variable *lookup(struct machine *m, const char *name)
{
    struct variable **p = &m->table[hash(name)];
    for (; *p; p = &(*p)->next) {
        if (!strcmp((*p)->name, name)) {
            (*p)->uses++;
            return *p;
        }
    }
    *p = calloc(1, sizeof(**p));
    if (!*p) {
        exit(9);
    }
    snprintf((*p)->name, sizeof((*p)->name), "%s", name);
    m->variables++;
    return *p;
}

static void complain(struct machine *m, const char *what)
{
    printf("error: %s at '%s'\n", what, m->now.text);
    m->errors++;
}

static void advance(struct machine *m)
{
    struct token *t = &m->now;
    size_t n = 0;
    while (isspace((unsigned char)*m->at)) {
        m->at++;
    }
    memset(t, 0, sizeof(*t));
    if (*m->at == '\0') {
        t->kind = END;
        return;
    }
    if (isdigit((unsigned char)*m->at)) {
        t->kind = NUMBER;
        while (isdigit((unsigned char)*m->at)) {
            t->value = t->value * 10 + (*m->at - '0');
            m->at++;
        }
        return;
    }
    if (isalpha((unsigned char)*m->at)) {
        t->kind = NAME;
        while (isalnum((unsigned char)*m->at)) {
            if (n + 1 < sizeof(t->text)) {
                t->text[n] = *m->at;
                n++;
            }
            m->at++;
        }
        return;
    }
    t->kind = SIGN;
    t->text[0] = *m->at;
    m->at++;
}

static bool is_sign(const struct machine *m, char c)
{
    return m->now.kind == SIGN && m->now.text[0] == c;
}

static bool is_word(const struct machine *m, const char *word)
{
    return m->now.kind == NAME && !strcmp(m->now.text, word);
}

static long expression(struct machine *m);

static long factor(struct machine *m)
{
    long v = 0;
    switch (m->now.kind) {
    case NUMBER:
        v = m->now.value;
        advance(m);
        break;
    case NAME:
        v = lookup(m, m->now.text)->value;
        advance(m);
        break;
    case SIGN:
        if (is_sign(m, '(')) {
            advance(m);
            v = expression(m);
            if (!is_sign(m, ')')) {
                complain(m, "no closing parenthesis");
                break;
            }
            advance(m);
        } else if (is_sign(m, '-')) {
            advance(m);
            v = -factor(m);
        } else {
            complain(m, "not a value");
            advance(m);
        }
        break;
    default:
        complain(m, "unexpected end");
        break;
    }
    return v;
}

static long product(struct machine *m)
{
    long v = factor(m);
    while (is_sign(m, '*') || is_sign(m, '/')) {
        bool times = is_sign(m, '*');
        long right;
        advance(m);
        right = factor(m);
        if (times) {
            v *= right;
        } else if (right == 0) {
            complain(m, "division by zero");
        } else {
            v /= right;
        }
    }
    return v;
}

static long expression(struct machine *m)
{
    long v = product(m);
    for (;;) {
        if (is_sign(m, '+')) {
            advance(m);
            v += product(m);
        } else if (is_sign(m, '-')) {
            advance(m);
            v -= product(m);
        } else {
            break;
        }
    }
    return v;
}

static void run(struct machine *m, const char *text);

static void repeat(struct machine *m)
{
    long times = expression(m);
    const char *body = m->at;
    if (!is_sign(m, ':')) {
        complain(m, "no colon");
        return;
    }
    for (long i = 0; i < times; i++) {
        run(m, body);
    }
    m->at = "";
    advance(m);
}

static void statement(struct machine *m)
{
    char name[16];
    m->steps++;
    if (is_word(m, "repeat")) {
        advance(m);
        repeat(m);
        return; /* gcov: all returns of the function */
    }
    if (is_word(m, "print")) {
        advance(m);
        printf("%ld\n", expression(m));
        return;
    }
    if (m->now.kind != NAME) {
        complain(m, "not a statement");
        m->at = "";
        advance(m);
        return;
    }
    memcpy(name, m->now.text, sizeof(name));
    advance(m);
    if (!is_sign(m, '=')) {
        complain(m, "no equals sign");
        advance(m);
        return;
    }
    advance(m);
    long value = expression(m);
    lookup(m, name)->value = value;
}

static void run(struct machine *m, const char *text)
{
    m->at = text;
    advance(m);
    while (m->now.kind != END) {
        statement(m);
        if (is_sign(m, ';')) {
            advance(m);
        } else if (m->now.kind != END) {
            complain(m, "no semicolon");
            return;
        }
    }
}

static int by_name(const void *a, const void *b)
{
    const struct variable *const *x = a;
    const struct variable *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void list(const struct machine *m)
{
    const struct variable **v = calloc(m->variables + 1, sizeof(*v));
    unsigned n = 0;
    if (!v) {
        exit(9);
    }
    for (unsigned i = 0; i < 8; i++) {
        for (const struct variable *p = m->table[i]; p; p = p->next) {
            v[n] = p;
            n++;
        }
    }
    qsort(v, n, sizeof(*v), by_name);
    for (unsigned i = 0; i < n; i++) {
        printf("%s = %ld (%u)\n", v[i]->name, v[i]->value, v[i]->uses);
    }
    free(v);
}

static void forget(struct machine *m)
{
    for (unsigned i = 0; i < 8; i++) {
        while (m->table[i]) {
            struct variable *p = m->table[i];
            m->table[i] = p->next;
            free(p);
        }
    }
    m->variables = 0;
}

static bool usage(int argc)
{
    if (argc > 20) {
        puts("too many");
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char *const programs[] = {
        "a = 1; b = 2; print a + b * 3",
        "x = 0; repeat 12 : x = x + 2; y = x * x; z = y / (x - 24)",
        "print (4 + 5 * 2; print 3",
        "f = 1; g = 1; repeat 15 : h = f + g; f = g; g = h",
        "= 4",
        "q 7; q = - - 3; longvariablenameindeed = 7 / 2 / 1",
        "v = ",
    };
    struct machine m = {0};
    if (usage(argc)) {
        return 2;
    }
    (void)argv;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        run(&m, programs[i]);
    }
    list(&m);
    forget(&m);
    printf("%u errors, %u steps\n", m.errors, m.steps);
    return 0;
}
