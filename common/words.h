/* SPDX-License-Identifier: MIT */
/*
 * A table's words, of which an argument or a command must be one: finds a word, and the one
 * that a mistyped word was meant to be.
 */
#ifndef COMMON_WORDS_H
#define COMMON_WORDS_H

#include <stddef.h>

/* The words of a table; at most 64 bytes each. */
struct words {
    const char *what;  /* what they name, for messages: "event" */
    const void *first; /* member of the table's first row: const char *, NULL: no word */
    size_t stride;     /* bytes from one row to the next */
    size_t n;          /* rows */
};

/* Of an array of structures with a member `const char *name', or of strings. */
#define WORDS_OF_NAMES(what, table)                                                      \
    {what, &(table)[0].name, sizeof((table)[0]), sizeof(table) / sizeof((table)[0])}
#define WORDS_OF_STRINGS(what, table)                                                    \
    {what, &(table)[0], sizeof((table)[0]), sizeof(table) / sizeof((table)[0])}

/* The word of row i < n, or NULL. */
const char *words_at(const struct words *w, size_t i);

/* The row of the word text[0..len-1], or w->n. */
size_t words_find(const struct words *w, const char *text, size_t len);

/*
 * The row of the first word of a list with commas, or w->n.  Moves *list to the next word,
 * to NULL after the last word.
 */
size_t words_next(const struct words *w, const char **list);

/*
 * The word that text[0..len-1] was probably meant to be, or NULL: the first one with
 * the least optimal string alignment distance (a letter inserted, deleted, changed, or
 * exchanged with the next one counts 1), if that is at most a third of the length, or 1.
 * Of a short list else one that begins as the text does.
 */
const char *words_nearest(const struct words *w, const char *text, size_t len);

#endif
