/* SPDX-License-Identifier: MIT */
/* Prototypes of the C library; see prototypes.h. */
#include "state/prototypes.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by name (as strcmp). */
static const struct prototype {
    const char *name;
    const char *types;
} prototypes[] = {
    {"abort", "v"},
    {"abs", "ii"},
    {"accept", "iipp"},
    {"access", "isi"},
    {"aligned_alloc", "pzz"},
    {"asprintf", "ips."},
    {"atexit", "ip"},
    {"atof", "ds"},
    {"atoi", "is"},
    {"atol", "ls"},
    {"bcmp", "ippz"},
    {"bind", "iipu"},
    {"bsearch", "pppzzp"},
    {"bzero", "vpz"},
    {"calloc", "pzz"},
    {"chdir", "is"},
    {"chmod", "iso"},
    {"chown", "isuu"},
    {"clock_gettime", "iip"},
    {"close", "ii"},
    {"closedir", "ip"},
    {"connect", "iipu"},
    {"cos", "dd"},
    {"dlclose", "ip"},
    {"dlopen", "psx"},
    {"dlsym", "pps"},
    {"dup", "ii"},
    {"dup2", "iii"},
    {"execv", "isp"},
    {"execve", "ispp"},
    {"execvp", "isp"},
    {"exit", "vi"},
    {"exp", "dd"},
    {"explicit_bzero", "vpz"},
    {"fclose", "ip"},
    {"fcntl", "iii."},
    {"fdopen", "pis"},
    {"feof", "ip"},
    {"ferror", "ip"},
    {"fflush", "ip"},
    {"fgetc", "ip"},
    {"fgets", "spip"},
    {"fileno", "ip"},
    {"floor", "dd"},
    {"fmod", "ddd"},
    {"fopen", "pss"},
    {"fopen64", "pss"},
    {"fork", "i"},
    {"fprintf", "ips."},
    {"fputc", "icp"},
    {"fputs", "isp"},
    {"fread", "zpzzp"},
    {"free", "vp"},
    {"freopen", "pssp"},
    {"fscanf", "ips."},
    {"fseek", "ipli"},
    {"fstat", "iip"},
    {"ftell", "lp"},
    {"fwrite", "zpzzp"},
    {"getc", "ip"},
    {"getchar", "i"},
    {"getcwd", "spz"},
    {"getdelim", "lppip"},
    {"getenv", "ss"},
    {"getline", "lppp"},
    {"getopt", "iips"},
    {"getopt_long", "iipspp"},
    {"getpid", "i"},
    {"getppid", "i"},
    {"gettimeofday", "ipp"},
    {"getuid", "u"},
    {"gmtime", "pp"},
    {"inet_addr", "xs"},
    {"ioctl", "iix."},
    {"isatty", "ii"},
    {"kill", "iii"},
    {"listen", "iii"},
    {"localtime", "pp"},
    {"log", "dd"},
    {"longjmp", "vpi"},
    {"lseek", "liii"},
    {"lstat", "isp"},
    {"madvise", "ipzi"},
    {"malloc", "pz"},
    {"memalign", "pzz"},
    {"memchr", "ppiz"},
    {"memcmp", "ippz"},
    {"memcpy", "pppz"},
    {"memmove", "pppz"},
    {"mempcpy", "pppz"},
    {"memrchr", "ppiz"},
    {"memset", "ppiz"},
    {"mkdir", "iso"},
    {"mkstemp", "is"},
    {"mktime", "lp"},
    {"mmap", "ppzxxil"},
    {"mprotect", "ipzx"},
    {"munmap", "ipz"},
    {"nanosleep", "ipp"},
    {"open", "isx."},
    {"open64", "isx."},
    {"opendir", "ps"},
    {"perror", "vs"},
    {"pipe", "ip"},
    {"poll", "ipzi"},
    {"popen", "pss"},
    {"posix_memalign", "ipzz"},
    {"pow", "ddd"},
    {"pread", "lipzl"},
    {"printf", "is."},
    {"pthread_create", "ipppp"},
    {"pthread_join", "izp"},
    {"pthread_mutex_lock", "ip"},
    {"pthread_mutex_unlock", "ip"},
    {"putc", "icp"},
    {"putchar", "ic"},
    {"putenv", "is"},
    {"puts", "is"},
    {"pwrite", "lipzl"},
    {"qsort", "vpzzp"},
    {"raise", "ii"},
    {"rand", "i"},
    {"random", "l"},
    {"read", "lipz"},
    {"readdir", "pp"},
    {"readlink", "lspz"},
    {"realloc", "ppz"},
    {"reallocarray", "ppzz"},
    {"realpath", "ssp"},
    {"recv", "lipzx"},
    {"recvfrom", "lipzxpp"},
    {"remove", "is"},
    {"rename", "iss"},
    {"rewind", "vp"},
    {"rmdir", "is"},
    {"scanf", "is."},
    {"select", "iipppp"},
    {"send", "lipzx"},
    {"sendto", "lipzxpu"},
    {"setenv", "issi"},
    {"setlocale", "sis"},
    {"setsockopt", "iiiipu"},
    {"setvbuf", "ippiz"},
    {"sigaction", "iipp"},
    {"signal", "pip"},
    {"sin", "dd"},
    {"sleep", "uu"},
    {"snprintf", "ipzs."},
    {"socket", "iiii"},
    {"sprintf", "ips."},
    {"sqrt", "dd"},
    {"srand", "vu"},
    {"sscanf", "iss."},
    {"stat", "isp"},
    {"stpcpy", "sps"},
    {"strcasecmp", "iss"},
    {"strcat", "sss"},
    {"strchr", "ssc"},
    {"strchrnul", "ssc"},
    {"strcmp", "iss"},
    {"strcoll", "iss"},
    {"strcpy", "sps"},
    {"strcspn", "zss"},
    {"strdup", "ss"},
    {"strerror", "si"},
    {"strftime", "zpzsp"},
    {"strlen", "zs"},
    {"strncasecmp", "issz"},
    {"strncat", "sssz"},
    {"strncmp", "issz"},
    {"strncpy", "spsz"},
    {"strndup", "ssz"},
    {"strnlen", "zsz"},
    {"strpbrk", "sss"},
    {"strrchr", "ssc"},
    {"strspn", "zss"},
    {"strstr", "sss"},
    {"strtod", "dsp"},
    {"strtok", "sss"},
    {"strtok_r", "sssp"},
    {"strtol", "lspi"},
    {"strtoll", "qspi"},
    {"strtoul", "zspi"},
    {"strtoull", "qspi"},
    {"system", "is"},
    {"time", "lp"},
    {"tolower", "cc"},
    {"toupper", "cc"},
    {"ungetc", "icp"},
    {"unlink", "is"},
    {"unsetenv", "is"},
    {"usleep", "iu"},
    {"vasprintf", "ipsp"},
    {"vfprintf", "ipsp"},
    {"vprintf", "isp"},
    {"vsnprintf", "ipzsp"},
    {"vsprintf", "ipsp"},
    {"wait", "ip"},
    {"waitpid", "iipx"},
    {"write", "lipz"},
};

static int by_name(const void *key, const void *element)
{
    return strcmp(key, ((const struct prototype *)element)->name);
}

static const struct prototype *find(const char *name, size_t n)
{
    char text[64];

    if (!n || n >= sizeof(text)) {
        return NULL;
    }
    memcpy(text, name, n);
    text[n] = 0;
    return bsearch(text, prototypes, sizeof(prototypes) / sizeof(prototypes[0]),
                   sizeof(prototypes[0]), by_name);
}

/* The bytes of a name before what says which processors it is for: of "strlen_avx2" those
 * of "strlen"; or all of it. */
static size_t without_processor(const char *name, size_t n)
{
    static const char *const words[] = {
        "_sse",      "_ssse",  "_avx",   "_evex", "_erms", "_unaligned",
        "_generic",  "_neon",  "_asimd", "_sve",  "_mops", "_falkor",
        "_thunderx", "_power", "_ppc",   "_vx",   "_z13",  "_z900",
        "_ia32",     "_i586",  "_i686",  "_arm"};

    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
            if (!strncmp(name + i, words[k], strlen(words[k]))) {
                return i;
            }
        }
    }
    return n;
}

bool prototype_is_variant(const char *linkage, const char *name)
{
    size_t n = strlen(linkage), base;

    if (strncmp(linkage, "__", 2)) {
        return false;
    }
    base = without_processor(linkage + 2, n - 2);
    return base < n - 2 && find(linkage + 2, base) && strlen(name) == base &&
           !strncmp(linkage + 2, name, base);
}

const char *prototype_of(const char *linkage)
{
    static const char *const prefixes[] = {"__GI_", "__libc_", "_IO_", "__", ""};
    size_t n = strcspn(linkage, "@");
    const struct prototype *p = NULL;

    for (size_t i = 0; !p && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t skip = strlen(prefixes[i]);
        const char *name = linkage + skip;

        if (!strncmp(linkage, prefixes[i], skip) && n > skip) {
            p = find(name, n - skip);
            p = p || !skip ? p : find(name, without_processor(name, n - skip));
        }
    }
    return p ? p->types : NULL;
}
