/* SPDX-License-Identifier: MIT */
/*
 * Mnemonics: the first word of an instruction's text, and prefixes before it.  Readers
 * of a trace see Thumb mnemonics with the condition of their IT block; the host's
 * disassembler decodes one instruction only.
 */
#include "filter.h"

#include <fnmatch.h>
#include <string.h>

#include "cannoli/isa.h"

#define WORD 64

/* A prefix of a mnemonic, which also counts as a mnemonic. */
static bool is_prefix(const char *word)
{
    static const char *const prefixes[] = {"lock",     "rep",      "repe",  "repz",
                                           "repne",    "repnz",    "bnd",   "notrack",
                                           "xacquire", "xrelease", "data16"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (!strcmp(word, prefixes[i])) {
            return true;
        }
    }
    return false;
}

static bool next_word(const char **text, char *word)
{
    size_t n;

    *text += strspn(*text, " \t");
    n = strcspn(*text, " \t");
    if (n == 0 || n >= WORD) {
        return false;
    }
    memcpy(word, *text, n);
    word[n] = '\0';
    *text += n;
    return true;
}

const char *mnemonic_condition(struct thumb_it *it, const struct cannoli_insn *insn,
                               uint32_t machine)
{
    static const char conditions[][3] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "",   ""};
    uint8_t state = it->pc == insn->pc ? it->state : 0;
    uint32_t h;

    if (machine != CANNOLI_EM_ARM || insn->mode != CANNOLI_ISA_THUMB || insn->len < 2) {
        return "";
    }
    h = cannoli_isa_u16(insn->bytes, 0);
    it->pc = insn->pc + insn->len;
    if ((h & 0xff00) == 0xbf00 && (h & 15)) {
        it->state = (uint8_t)h;
        return "";
    }
    it->state = state & 7 ? (uint8_t)((state & 0xe0) | (state << 1 & 0x1f)) : 0;
    return state ? conditions[state >> 4] : "";
}

/* A 16-bit instruction that sets flags outside an IT block (adds) does not in one
 * (addeq). */
static void add_condition(char *word, const char *condition, uint32_t len)
{
    size_t n = strcspn(word, ".");
    char rest[WORD];

    strcpy(rest, word + n);
    if (len == 2 && n > 2 && word[n - 1] == 's') {
        n--;
    }
    if (n + strlen(condition) + strlen(rest) < WORD) {
        strcpy(word + n, condition);
        strcat(word, rest);
    }
}

/* Removes the width of a Thumb instruction, which does not change its meaning. */
static bool cut_width(char *word, uint32_t machine)
{
    size_t n = strlen(word);

    if (machine != CANNOLI_EM_ARM || n < 3 ||
        (strcmp(word + n - 2, ".w") && strcmp(word + n - 2, ".n"))) {
        return false;
    }
    word[n - 2] = '\0';
    return true;
}

/* Matches one name of the instruction with the wanted and the unwanted ones. */
static void try_name(const struct patterns *list, const char *word, bool *wanted,
                     bool *unwanted)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!fnmatch(list->v[i].text, word, FNM_CASEFOLD)) {
            *(list->v[i].negated ? unwanted : wanted) = true;
        }
    }
}

bool mnemonic_matches(const struct patterns *list, const char *text, uint32_t machine,
                      const char *condition, uint32_t len)
{
    bool wanted = !list->positive, unwanted = false;
    char word[WORD];

    while (next_word(&text, word)) {
        if (*condition) {
            add_condition(word, condition, len);
        }
        try_name(list, word, &wanted, &unwanted);
        if (is_prefix(word)) {
            continue;
        }
        if (cut_width(word, machine)) {
            try_name(list, word, &wanted, &unwanted);
        }
        break;
    }
    return wanted && !unwanted;
}
