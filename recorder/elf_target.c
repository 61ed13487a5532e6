/* SPDX-License-Identifier: MIT */
/*
 * The ELF header by hand: sixteen bytes of identification, machine and flags
 * are all that is needed, of either class and either byte order.
 */
#include "elf_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EM_ALPHA_QEMU 0x9026u
#define EM_LOONGARCH_QEMU 258u

/* Flags that distinguish targets of one machine: (e_flags & mask) == flags. */
static const struct {
    uint32_t machine;
    uint8_t class, data;
    uint32_t mask, flags;
    const char *target;
} targets[] = {
    {EM_ARM, ELFCLASS32, ELFDATA2LSB, 0, 0, "arm"},
    {EM_ARM, ELFCLASS32, ELFDATA2MSB, 0, 0, "armeb"},
    {EM_AARCH64, ELFCLASS64, ELFDATA2LSB, 0, 0, "aarch64"},
    {EM_AARCH64, ELFCLASS64, ELFDATA2MSB, 0, 0, "aarch64_be"},
    {EM_386, ELFCLASS32, ELFDATA2LSB, 0, 0, "i386"},
    {EM_X86_64, ELFCLASS64, ELFDATA2LSB, 0, 0, "x86_64"},
    {EM_MIPS, ELFCLASS32, ELFDATA2MSB, EF_MIPS_ABI2, EF_MIPS_ABI2, "mipsn32"},
    {EM_MIPS, ELFCLASS32, ELFDATA2LSB, EF_MIPS_ABI2, EF_MIPS_ABI2, "mipsn32el"},
    {EM_MIPS, ELFCLASS32, ELFDATA2MSB, 0, 0, "mips"},
    {EM_MIPS, ELFCLASS32, ELFDATA2LSB, 0, 0, "mipsel"},
    {EM_MIPS, ELFCLASS64, ELFDATA2MSB, 0, 0, "mips64"},
    {EM_MIPS, ELFCLASS64, ELFDATA2LSB, 0, 0, "mips64el"},
    {EM_RISCV, ELFCLASS32, ELFDATA2LSB, 0, 0, "riscv32"},
    {EM_RISCV, ELFCLASS64, ELFDATA2LSB, 0, 0, "riscv64"},
    {EM_S390, ELFCLASS64, ELFDATA2MSB, 0, 0, "s390x"},
    {EM_PPC, ELFCLASS32, ELFDATA2MSB, 0, 0, "ppc"},
    {EM_PPC64, ELFCLASS64, ELFDATA2MSB, 0, 0, "ppc64"},
    {EM_PPC64, ELFCLASS64, ELFDATA2LSB, 0, 0, "ppc64le"},
    {EM_SPARC, ELFCLASS32, ELFDATA2MSB, 0, 0, "sparc"},
    {EM_SPARC32PLUS, ELFCLASS32, ELFDATA2MSB, 0, 0, "sparc32plus"},
    {EM_SPARCV9, ELFCLASS64, ELFDATA2MSB, 0, 0, "sparc64"},
    {EM_68K, ELFCLASS32, ELFDATA2MSB, 0, 0, "m68k"},
    {EM_SH, ELFCLASS32, ELFDATA2LSB, 0, 0, "sh4"},
    {EM_SH, ELFCLASS32, ELFDATA2MSB, 0, 0, "sh4eb"},
    {EM_PARISC, ELFCLASS32, ELFDATA2MSB, 0, 0, "hppa"},
    {EM_ALPHA_QEMU, ELFCLASS64, ELFDATA2LSB, 0, 0, "alpha"},
    {EM_LOONGARCH_QEMU, ELFCLASS64, ELFDATA2LSB, 0, 0, "loongarch64"},
    {EM_MICROBLAZE, ELFCLASS32, ELFDATA2MSB, 0, 0, "microblaze"},
    {EM_MICROBLAZE, ELFCLASS32, ELFDATA2LSB, 0, 0, "microblazeel"},
    {EM_OPENRISC, ELFCLASS32, ELFDATA2MSB, 0, 0, "or1k"},
    {EM_XTENSA, ELFCLASS32, ELFDATA2LSB, 0, 0, "xtensa"},
    {EM_XTENSA, ELFCLASS32, ELFDATA2MSB, 0, 0, "xtensaeb"},
    {EM_QDSP6, ELFCLASS32, ELFDATA2LSB, 0, 0, "hexagon"},
};

#define N_TARGETS (sizeof(targets) / sizeof(targets[0]))

static uint32_t load(const uint8_t *p, unsigned bytes, uint8_t data)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint32_t)p[i] << 8 * (data == ELFDATA2LSB ? i : bytes - 1 - i);
    }
    return v;
}

enum elf_kind elf_target(const char *path, const char **target)
{
    uint8_t h[sizeof(Elf64_Ehdr)];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint32_t machine, flags;
    ssize_t n;

    if (fd < 0) {
        return ELF_UNREADABLE;
    }
    n = pread(fd, h, sizeof(h), 0);
    if (n < 0) {
        int err = errno;
        close(fd);
        errno = err;
        return ELF_UNREADABLE;
    }
    close(fd);
    if (n < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(h, ELFMAG, SELFMAG)) {
        return ELF_NOT_ELF;
    }
    if (h[EI_CLASS] == ELFCLASS64 && n < (ssize_t)sizeof(Elf64_Ehdr)) {
        return ELF_NOT_ELF;
    }
    machine = load(h + offsetof(Elf32_Ehdr, e_machine), 2, h[EI_DATA]);
    flags = load(h + (h[EI_CLASS] == ELFCLASS64 ? offsetof(Elf64_Ehdr, e_flags)
                                                : offsetof(Elf32_Ehdr, e_flags)),
                 4, h[EI_DATA]);
    for (size_t i = 0; i < N_TARGETS; i++) {
        if (targets[i].machine == machine && targets[i].class == h[EI_CLASS] &&
            targets[i].data == h[EI_DATA] &&
            (flags & targets[i].mask) == targets[i].flags) {
            *target = targets[i].target;
            return ELF_FILE;
        }
    }
    return ELF_UNKNOWN;
}

bool elf_describe_target(const char *name, struct elf_machine *m)
{
    for (size_t i = 0; i < N_TARGETS; i++) {
        if (!strcmp(targets[i].target, name)) {
            m->machine = targets[i].machine;
            m->big_endian = targets[i].data == ELFDATA2MSB;
            m->addr_bytes = targets[i].class == ELFCLASS64 ? 8 : 4;
            return true;
        }
    }
    return false;
}

int elf_is_target(const char *name)
{
    struct elf_machine m;

    return elf_describe_target(name, &m);
}

static int note_in(const uint8_t *p, size_t n, unsigned *version)
{
    const size_t len = strlen(ELF_NOTE_PREFIX);

    while (n > len) {
        const uint8_t *hit = memmem(p, n, ELF_NOTE_PREFIX, len);
        unsigned v = 0, digits = 0;

        if (!hit) {
            return 0;
        }
        n -= (size_t)(hit - p) + len;
        for (p = hit + len; n && *p >= '0' && *p <= '9' && digits < 6; p++, n--) {
            v = v * 10 + (unsigned)(*p - '0');
            digits++;
        }
        if (digits && n && *p == '\0') {
            *version = v;
            return 1;
        }
    }
    return 0;
}

enum elf_note elf_cannoli_version(const char *path, unsigned *version)
{
    enum elf_note result = ELF_NOTE_ERROR;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const Elf64_Ehdr *h;
    const uint8_t *map;
    struct stat st;
    size_t size;
    int err;

    if (fd < 0) {
        return ELF_NOTE_ERROR;
    }
    if (fstat(fd, &st) < 0) {
        goto out_fd;
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(Elf64_Ehdr)) {
        result = ELF_NOTE_NOT_ELF;
        goto out_fd;
    }
    size = (size_t)st.st_size;
    map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        goto out_fd;
    }
    h = (const Elf64_Ehdr *)map;
    if (memcmp(map, ELFMAG, SELFMAG)) {
        result = ELF_NOTE_NOT_ELF;
    } else if (h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
               h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phoff < size &&
               h->e_phnum <= (size - h->e_phoff) / sizeof(Elf64_Phdr)) {
        /* Debug information is most of such a file: look only at what is loaded. */
        result = ELF_NOTE_ABSENT;
        for (unsigned i = 0; i < h->e_phnum && !result; i++) {
            Elf64_Phdr ph;
            memcpy(&ph, map + h->e_phoff + i * sizeof(ph), sizeof(ph));
            if (ph.p_type == PT_LOAD && !(ph.p_flags & PF_X) && ph.p_offset < size &&
                ph.p_filesz <= size - ph.p_offset &&
                note_in(map + ph.p_offset, ph.p_filesz, version)) {
                result = ELF_NOTE_FOUND;
            }
        }
    }
    if (result == ELF_NOTE_ERROR || result == ELF_NOTE_ABSENT) {
        result = note_in(map, size, version) ? ELF_NOTE_FOUND : ELF_NOTE_ABSENT;
    }
    munmap((void *)map, size);
out_fd:
    err = errno;
    close(fd);
    errno = err;
    return result;
}
