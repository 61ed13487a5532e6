/* SPDX-License-Identifier: MIT */
/*
 * Error numbers of Linux by family of machines, and the C library's messages for
 * them.
 */
#include "guest/guest.h"

struct error {
    const char *name;
    const char *text;
    uint16_t number[GUEST_NR_NUMBERS]; /* 0: does not exist */
};

/* clang-format off */
static const struct error errors[] = {
    {"EPERM", "Operation not permitted", {1, 1, 1, 1, 1}},
    {"ENOENT", "No such file or directory", {2, 2, 2, 2, 2}},
    {"ESRCH", "No such process", {3, 3, 3, 3, 3}},
    {"EINTR", "Interrupted system call", {4, 4, 4, 4, 4}},
    {"EIO", "Input/output error", {5, 5, 5, 5, 5}},
    {"ENXIO", "No such device or address", {6, 6, 6, 6, 6}},
    {"E2BIG", "Argument list too long", {7, 7, 7, 7, 7}},
    {"ENOEXEC", "Exec format error", {8, 8, 8, 8, 8}},
    {"EBADF", "Bad file descriptor", {9, 9, 9, 9, 9}},
    {"ECHILD", "No child processes", {10, 10, 10, 10, 10}},
    {"EAGAIN", "Resource temporarily unavailable", {11, 11, 11, 35, 11}},
    {"ENOMEM", "Cannot allocate memory", {12, 12, 12, 12, 12}},
    {"EACCES", "Permission denied", {13, 13, 13, 13, 13}},
    {"EFAULT", "Bad address", {14, 14, 14, 14, 14}},
    {"ENOTBLK", "Block device required", {15, 15, 15, 15, 15}},
    {"EBUSY", "Device or resource busy", {16, 16, 16, 16, 16}},
    {"EEXIST", "File exists", {17, 17, 17, 17, 17}},
    {"EXDEV", "Invalid cross-device link", {18, 18, 18, 18, 18}},
    {"ENODEV", "No such device", {19, 19, 19, 19, 19}},
    {"ENOTDIR", "Not a directory", {20, 20, 20, 20, 20}},
    {"EISDIR", "Is a directory", {21, 21, 21, 21, 21}},
    {"EINVAL", "Invalid argument", {22, 22, 22, 22, 22}},
    {"ENFILE", "Too many open files in system", {23, 23, 23, 23, 23}},
    {"EMFILE", "Too many open files", {24, 24, 24, 24, 24}},
    {"ENOTTY", "Inappropriate ioctl for device", {25, 25, 25, 25, 25}},
    {"ETXTBSY", "Text file busy", {26, 26, 26, 26, 26}},
    {"EFBIG", "File too large", {27, 27, 27, 27, 27}},
    {"ENOSPC", "No space left on device", {28, 28, 28, 28, 28}},
    {"ESPIPE", "Illegal seek", {29, 29, 29, 29, 29}},
    {"EROFS", "Read-only file system", {30, 30, 30, 30, 30}},
    {"EMLINK", "Too many links", {31, 31, 31, 31, 31}},
    {"EPIPE", "Broken pipe", {32, 32, 32, 32, 32}},
    {"EDOM", "Numerical argument out of domain", {33, 33, 33, 33, 33}},
    {"ERANGE", "Numerical result out of range", {34, 34, 34, 34, 34}},
    {"EDEADLK", "Resource deadlock avoided", {35, 45, 78, 11, 45}},
    {"ENAMETOOLONG", "File name too long", {36, 78, 63, 63, 248}},
    {"ENOLCK", "No locks available", {37, 46, 79, 77, 46}},
    {"ENOSYS", "Function not implemented", {38, 89, 90, 78, 251}},
    {"ENOTEMPTY", "Directory not empty", {39, 93, 66, 66, 247}},
    {"ELOOP", "Too many levels of symbolic links", {40, 90, 62, 62, 249}},
    {"ENOMSG", "No message of desired type", {42, 35, 75, 80, 35}},
    {"EIDRM", "Identifier removed", {43, 36, 77, 81, 36}},
    {"ECHRNG", "Channel number out of range", {44, 37, 94, 88, 37}},
    {"EL2NSYNC", "Level 2 not synchronized", {45, 38, 95, 89, 38}},
    {"EL3HLT", "Level 3 halted", {46, 39, 96, 90, 39}},
    {"EL3RST", "Level 3 reset", {47, 40, 97, 91, 40}},
    {"ELNRNG", "Link number out of range", {48, 41, 98, 93, 41}},
    {"EUNATCH", "Protocol driver not attached", {49, 42, 99, 94, 42}},
    {"ENOCSI", "No CSI structure available", {50, 43, 100, 95, 43}},
    {"EL2HLT", "Level 2 halted", {51, 44, 101, 96, 44}},
    {"EBADE", "Invalid exchange", {52, 50, 102, 97, 160}},
    {"EBADR", "Invalid request descriptor", {53, 51, 103, 98, 161}},
    {"EXFULL", "Exchange full", {54, 52, 104, 99, 162}},
    {"ENOANO", "No anode", {55, 53, 105, 100, 163}},
    {"EBADRQC", "Invalid request code", {56, 54, 106, 101, 164}},
    {"EBADSLT", "Invalid slot", {57, 55, 107, 102, 165}},
    {"EBFONT", "Bad font file format", {59, 59, 109, 104, 166}},
    {"ENOSTR", "Device not a stream", {60, 60, 72, 87, 54}},
    {"ENODATA", "No data available", {61, 61, 111, 86, 51}},
    {"ETIME", "Timer expired", {62, 62, 73, 83, 52}},
    {"ENOSR", "Out of streams resources", {63, 63, 74, 82, 53}},
    {"ENONET", "Machine is not on the network", {64, 64, 80, 105, 50}},
    {"ENOPKG", "Package not installed", {65, 65, 113, 92, 55}},
    {"EREMOTE", "Object is remote", {66, 66, 71, 71, 71}},
    {"ENOLINK", "Link has been severed", {67, 67, 82, 106, 57}},
    {"EADV", "Advertise error", {68, 68, 83, 107, 58}},
    {"ESRMNT", "Srmount error", {69, 69, 84, 108, 59}},
    {"ECOMM", "Communication error on send", {70, 70, 85, 109, 60}},
    {"EPROTO", "Protocol error", {71, 71, 86, 85, 61}},
    {"EMULTIHOP", "Multihop attempted", {72, 74, 87, 110, 64}},
    {"EDOTDOT", "RFS specific error", {73, 73, 88, 111, 66}},
    {"EBADMSG", "Bad message", {74, 77, 76, 84, 67}},
    {"EOVERFLOW", "Value too large for defined data type", {75, 79, 92, 112, 72}},
    {"ENOTUNIQ", "Name not unique on network", {76, 80, 115, 113, 167}},
    {"EBADFD", "File descriptor in bad state", {77, 81, 93, 114, 168}},
    {"EREMCHG", "Remote address changed", {78, 82, 89, 115, 169}},
    {"ELIBACC", "Can not access a needed shared library", {79, 83, 114, 122, 170}},
    {"ELIBBAD", "Accessing a corrupted shared library", {80, 84, 112, 123, 171}},
    {"ELIBSCN", ".lib section in a.out corrupted", {81, 85, 124, 124, 172}},
    {"ELIBMAX", "Attempting to link in too many shared libraries", {82, 86, 123, 125, 173}},
    {"ELIBEXEC", "Cannot exec a shared library directly", {83, 87, 110, 126, 174}},
    {"EILSEQ", "Invalid or incomplete multibyte or wide character", {84, 88, 122, 116, 47}},
    {"ERESTART", "Interrupted system call should be restarted", {85, 91, 116, 127, 175}},
    {"ESTRPIPE", "Streams pipe error", {86, 92, 91, 128, 176}},
    {"EUSERS", "Too many users", {87, 94, 68, 68, 68}},
    {"ENOTSOCK", "Socket operation on non-socket", {88, 95, 38, 38, 216}},
    {"EDESTADDRREQ", "Destination address required", {89, 96, 39, 39, 217}},
    {"EMSGSIZE", "Message too long", {90, 97, 40, 40, 218}},
    {"EPROTOTYPE", "Protocol wrong type for socket", {91, 98, 41, 41, 219}},
    {"ENOPROTOOPT", "Protocol not available", {92, 99, 42, 42, 220}},
    {"EPROTONOSUPPORT", "Protocol not supported", {93, 120, 43, 43, 221}},
    {"ESOCKTNOSUPPORT", "Socket type not supported", {94, 121, 44, 44, 222}},
    {"EOPNOTSUPP", "Operation not supported", {95, 122, 45, 45, 223}},
    {"EPFNOSUPPORT", "Protocol family not supported", {96, 123, 46, 46, 224}},
    {"EAFNOSUPPORT", "Address family not supported by protocol", {97, 124, 47, 47, 225}},
    {"EADDRINUSE", "Address already in use", {98, 125, 48, 48, 226}},
    {"EADDRNOTAVAIL", "Cannot assign requested address", {99, 126, 49, 49, 227}},
    {"ENETDOWN", "Network is down", {100, 127, 50, 50, 228}},
    {"ENETUNREACH", "Network is unreachable", {101, 128, 51, 51, 229}},
    {"ENETRESET", "Network dropped connection on reset", {102, 129, 52, 52, 230}},
    {"ECONNABORTED", "Software caused connection abort", {103, 130, 53, 53, 231}},
    {"ECONNRESET", "Connection reset by peer", {104, 131, 54, 54, 232}},
    {"ENOBUFS", "No buffer space available", {105, 132, 55, 55, 233}},
    {"EISCONN", "Transport endpoint is already connected", {106, 133, 56, 56, 234}},
    {"ENOTCONN", "Transport endpoint is not connected", {107, 134, 57, 57, 235}},
    {"ESHUTDOWN", "Cannot send after transport endpoint shutdown", {108, 143, 58, 58, 236}},
    {"ETOOMANYREFS", "Too many references: cannot splice", {109, 144, 59, 59, 237}},
    {"ETIMEDOUT", "Connection timed out", {110, 145, 60, 60, 238}},
    {"ECONNREFUSED", "Connection refused", {111, 146, 61, 61, 239}},
    {"EHOSTDOWN", "Host is down", {112, 147, 64, 64, 241}},
    {"EHOSTUNREACH", "No route to host", {113, 148, 65, 65, 242}},
    {"EALREADY", "Operation already in progress", {114, 149, 37, 37, 244}},
    {"EINPROGRESS", "Operation now in progress", {115, 150, 36, 36, 245}},
    {"ESTALE", "Stale file handle", {116, 151, 70, 70, 70}},
    {"EUCLEAN", "Structure needs cleaning", {117, 135, 117, 117, 177}},
    {"ENOTNAM", "Not a XENIX named type file", {118, 137, 118, 118, 178}},
    {"ENAVAIL", "No XENIX semaphores available", {119, 138, 119, 119, 179}},
    {"EISNAM", "Is a named type file", {120, 139, 120, 120, 180}},
    {"EREMOTEIO", "Remote I/O error", {121, 140, 121, 121, 181}},
    {"EDQUOT", "Disk quota exceeded", {122, 1133, 69, 69, 69}},
    {"ENOMEDIUM", "No medium found", {123, 159, 125, 129, 182}},
    {"EMEDIUMTYPE", "Wrong medium type", {124, 160, 126, 130, 183}},
    {"ECANCELED", "Operation canceled", {125, 158, 127, 131, 253}},
    {"ENOKEY", "Required key not available", {126, 161, 128, 132, 184}},
    {"EKEYEXPIRED", "Key has expired", {127, 162, 129, 133, 185}},
    {"EKEYREVOKED", "Key has been revoked", {128, 163, 130, 134, 186}},
    {"EKEYREJECTED", "Key was rejected by service", {129, 164, 131, 135, 187}},
    {"EOWNERDEAD", "Owner died", {130, 165, 132, 136, 254}},
    {"ENOTRECOVERABLE", "State not recoverable", {131, 166, 133, 137, 255}},
    {"ERFKILL", "Operation not possible due to RF-kill", {132, 167, 134, 138, 256}},
    {"EHWPOISON", "Memory page has hardware error", {133, 168, 135, 139, 257}},
    {"EDEADLOCK", "Resource deadlock avoided", {0, 56, 108, 0, 0}},
    {"EINIT", "Reserved", {0, 141, 0, 0, 0}},
    {"EREMDEV", "Remote device", {0, 142, 0, 0, 0}},
    {"EPROCLIM", "Too many processes", {0, 0, 67, 0, 0}},
    {"EREMOTERELEASE", "Remote peer released connection", {0, 0, 0, 0, 240}},
    {"ERREMOTE", "Object is remote", {0, 0, 81, 0, 0}},
    {"ERESTARTSYS", "To be restarted if SA_RESTART is set", {512, 512, 512, 512, 512}},
};
/* clang-format on */

static const struct error *error_of(const struct guest *g, unsigned number)
{
    for (size_t i = 0; number && i < sizeof(errors) / sizeof(*errors); i++) {
        if (errors[i].number[g->abi->numbers] == number) {
            return &errors[i];
        }
    }
    return NULL;
}

const char *guest_errno_name(const struct guest *g, unsigned number)
{
    const struct error *e = error_of(g, number);

    return e ? e->name : NULL;
}

const char *guest_errno_text(const struct guest *g, unsigned number)
{
    const struct error *e = error_of(g, number);

    return e ? e->text : NULL;
}
