/* SPDX-License-Identifier: MIT */
/*
 * What the launcher needs to know about an executable file: which QEMU target runs it,
 * and whether it is a QEMU that can be recorded.
 */
#ifndef RECORDER_ELF_TARGET_H
#define RECORDER_ELF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elf_kind {
    ELF_FILE = 0,
    ELF_NOT_ELF = 1,   /* a script, or anything else */
    ELF_UNKNOWN = 2,   /* an ELF file of a machine that QEMU has no user mode for */
    ELF_UNREADABLE = 3 /* errno says why */
};

/*
 * Finds QEMU's name of the target that runs the program at `path'; *target is
 * a constant string, set with ELF_FILE only.
 */
enum elf_kind elf_target(const char *path, const char **target);

struct elf_machine {
    uint32_t machine; /* e_machine */
    bool big_endian;
    unsigned addr_bytes;
};

/* What a target with this name runs; false: there is none. */
bool elf_describe_target(const char *name, struct elf_machine *m);

/* 1 if `name' is the name of a QEMU user-mode target ("arm", "ppc64le"). */
int elf_is_target(const char *name);

/* A patched QEMU says so in a string of its read-only data. */
#define ELF_NOTE_PREFIX "cannoli-mempipe-version="

enum elf_note {
    ELF_NOTE_ABSENT = 0,
    ELF_NOTE_FOUND = 1,
    ELF_NOTE_NOT_ELF = 2,
    ELF_NOTE_ERROR = 3, /* errno says why */
};

/* Looks for the note in the loaded parts of an ELF file. */
enum elf_note elf_cannoli_version(const char *path, unsigned *version);

#endif
