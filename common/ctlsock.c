/* SPDX-License-Identifier: MIT */
/*
 * The address of a unix socket holds 107 bytes of path.  A longer path is reached through
 * its folder's descriptor in /proc.
 */
#include "common/ctlsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

/* Fills in the address; *folder is a descriptor to close afterwards, or -1. */
static int address_of(const char *path, struct sockaddr_un *address, int *folder)
{
    const char *slash = strrchr(path, '/');
    char *dir;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *folder = -1;
    if (!*path) {
        return -ENOENT;
    }
    if (strlen(path) < sizeof(address->sun_path)) {
        strcpy(address->sun_path, path);
        return 0;
    }
    dir = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    if (!dir) {
        return slash ? -ENOMEM : -ENAMETOOLONG;
    }
    *folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (*folder < 0) {
        return -errno;
    }
    if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path),
                         "/proc/self/fd/%d/%s", *folder,
                         slash + 1) >= sizeof(address->sun_path)) {
        close(*folder);
        *folder = -1;
        return -ENAMETOOLONG;
    }
    return 0;
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : fd;
}

int ctlsock_connect(const char *path)
{
    struct sockaddr_un address;
    int folder, err = address_of(path, &address, &folder), fd;

    if (err) {
        return err;
    }
    fd = open_socket();
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        err = -errno;
        close(fd);
        fd = err;
    }
    if (folder >= 0) {
        close(folder);
    }
    return fd;
}

/* Removes a socket left over from a recorder that is gone. */
static void remove_stale(const char *path)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        return;
    }
    fd = ctlsock_connect(path);
    if (fd == -ECONNREFUSED) {
        unlink(path);
    } else if (fd >= 0) {
        close(fd);
    }
}

int ctlsock_listen(const char *path)
{
    struct sockaddr_un address;
    int folder, err, fd;
    mode_t mask;

    remove_stale(path);
    err = address_of(path, &address, &folder);
    if (err) {
        return err;
    }
    fd = open_socket();
    if (fd >= 0) {
        /* Only the owner may connect, from the first moment on. */
        mask = umask(0177);
        err = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
        umask(mask);
        if (!err && listen(fd, BACKLOG) < 0) {
            err = -errno;
            unlink(path);
        }
        if (err) {
            close(fd);
            fd = err;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return fd;
}
