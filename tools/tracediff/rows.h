/* SPDX-License-Identifier: MIT */
/*
 * What the text of a difference is made of: titles, notes, and rows with both sides; as lines
 * of text or as a page for a browser.  All append to the report's text and return false if
 * there is no memory.
 */
#ifndef TRACEDIFF_ROWS_H
#define TRACEDIFF_ROWS_H

#include "report.h"

/* Call first and last; of text they write nothing. */
bool rows_begin(struct report *r);
bool rows_end(struct report *r);

/* The text is without its end of line. */
bool rows_title(struct report *r, const struct textbuf *text);
bool rows_note(struct report *r, const struct textbuf *text);

/* A row.  sign between both: ' ' equal, '|' different, '<' and '>' only one. */
bool rows_put(struct report *r, const struct textbuf *left, const struct textbuf *right,
              char sign);

/* After the last row of a difference. */
bool rows_gap(struct report *r);

/* Appends text that a recorded program may have chosen, at most `room' bytes of it, and
 * blanks up to `width'. */
bool rows_field(struct textbuf *b, const char *text, size_t n, size_t room, size_t width);

#endif
