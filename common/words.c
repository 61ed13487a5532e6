/* SPDX-License-Identifier: MIT */
/* Known words; see words.h. */
#include "common/words.h"

#include <string.h>

#define WORD_MAX 64
/* Words of a list in which a longer form of one is recognized. */
#define SHORT_LIST 32u

const char *words_at(const struct words *w, size_t i)
{
    return *(const char *const *)((const char *)w->first + i * w->stride);
}

size_t words_find(const struct words *w, const char *text, size_t len)
{
    size_t i = 0;

    for (; i < w->n; i++) {
        const char *word = words_at(w, i);
        if (word && strlen(word) == len && !memcmp(word, text, len)) {
            break;
        }
    }
    return i;
}

size_t words_next(const struct words *w, const char **list)
{
    size_t len = strcspn(*list, ","), i = words_find(w, *list, len);

    *list = (*list)[len] ? *list + len + 1 : NULL;
    return i;
}

/* Optimal string alignment (a restricted Damerau-Levenshtein distance), row by row. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= nb; j++) {
        last[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

            d = last[j] + 1 < d ? last[j] + 1 : d;
            d = row[j - 1] + 1 < d ? row[j - 1] + 1 : d;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < d) {
                d = before[j - 2] + 1;
            }
            row[j] = d;
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[nb];
}

/*
 * Of a short list: the longest word that the text begins with ("mem" of "memory"), or
 * the first one that begins with the text ("html-summary" for "html").
 */
static const char *same_begin(const struct words *w, const char *text, size_t len)
{
    const char *best = NULL, *longer = NULL;
    size_t most = 2;

    for (size_t i = 0; w->n <= SHORT_LIST && i < w->n; i++) {
        const char *word = words_at(w, i);
        size_t n = word ? strlen(word) : 0;
        if (n > most && n < len && !memcmp(word, text, n)) {
            most = n;
            best = word;
        } else if (!longer && n > len && len > 2 && !memcmp(word, text, len)) {
            longer = word;
        }
    }
    return best ? best : longer;
}

const char *words_nearest(const struct words *w, const char *text, size_t len)
{
    const char *best = NULL;
    unsigned least = (len > 2 ? (unsigned)len / 3 : len > 1) + 1;

    for (size_t i = 0; len <= WORD_MAX && i < w->n; i++) {
        const char *word = words_at(w, i);
        if (word && strlen(word) <= WORD_MAX) {
            unsigned d = distance(text, len, word, strlen(word));
            if (d < least) {
                least = d;
                best = word;
            }
        }
    }
    return best ? best : same_begin(w, text, len);
}
