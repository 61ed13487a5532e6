/* SPDX-License-Identifier: MIT */
/*
 * The page around a flame graph: what is above the frames, their looks, and the script.
 */
#ifndef TRACESYM_GRAPH_SVG_H
#define TRACESYM_GRAPH_SVG_H

#include "common/textbuf.h"
#include "graph_priv.h"

#define SVG_WIDTH 1200.0   /* of the graph */
#define SVG_TOP 74u        /* above the graph */
#define SVG_BOTTOM 10u     /* below it */
#define SVG_ROW 18u        /* height of a frame */
#define SVG_CHAR_WIDTH 7.0 /* of a letter, approximately */

struct svg {
    FILE *out;
    struct textbuf text; /* escaped, for svg_text */
    bool nomem;
};

/* Writes at most `max' characters of a text; a shortened one ends in "..". */
void svg_text(struct svg *s, const char *text, size_t max);

/* What the page shows at first, and what it shows without a folded base. */
struct svg_page {
    unsigned height, folded_height; /* equal if nothing is folded */
    int shift;       /* of the frames, downwards, while the base is folded */
    double x, width; /* of the whole graph */
    uint32_t folded; /* frames of the folded base, 0: none */
    double outside;  /* percentage of the cost that is not in view while it is folded */
};

/* Everything before the frames, and after them. */
void svg_begin(struct svg *s, const struct calltree *t, const struct graph_options *opt,
               const struct svg_page *page);
void svg_end(struct svg *s);

/* Writes the colour of a frame whose cost changed from older to now. */
void svg_change_colour(FILE *out, double now, double older);

#endif
