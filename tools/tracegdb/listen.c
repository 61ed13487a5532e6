/* SPDX-License-Identifier: MIT */
/* Sockets on which gdb connects; see listen.h. */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/options.h"
#include "session.h"

#define LOOPBACK "127.0.0.1"

static int failed(const char *where, const char *why)
{
    tool_error(PROG, "--listen=%s: %s", where, why);
    return -1;
}

static int listen_at(int fd, const struct sockaddr *addr, socklen_t len)
{
    return fd < 0 || bind(fd, addr, len) || listen(fd, 1) ? -1 : 0;
}

/* Waits for a signal that ends the program, and removes the socket first. */
static void *end_unix(void *path)
{
    sigset_t set;
    int number;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    if (!sigwait(&set, &number)) {
        unlink(path);
        sigemptyset(&set);
        sigaddset(&set, number);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        raise(number);
    }
    return NULL;
}

/* A thread of its own gets these signals: no handler knows the path, and nothing that waits
 * is interrupted. */
static void guard_unix(const char *path)
{
    static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action;
    pthread_t thread;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN) {
            sigaddset(&set, ending[i]);
        }
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, end_unix, (void *)path)) {
        pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* then it is left */
    } else {
        pthread_detach(thread);
    }
}

static int open_unix(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(addr.sun_path)) {
        return failed(path, "the path is too long for a socket");
    }
    strcpy(addr.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listen_at(fd, (const struct sockaddr *)&addr, sizeof(addr))) {
        failed(path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    guard_unix(path);
    tool_error(PROG, "listening on %s", path);
    return fd;
}

/* Of "::1:1234" the port is after the last colon. */
static char *split(char *copy, const char **host)
{
    char *colon = strrchr(copy, ':');
    const size_t n = colon ? (size_t)(colon - copy) : 0;

    *host = LOOPBACK;
    if (!colon) {
        return copy;
    }
    *colon = 0;
    if (n > 1 && copy[0] == '[' && copy[n - 1] == ']') {
        copy[n - 1] = 0;
        copy++;
    }
    *host = *copy ? copy : LOOPBACK;
    return colon + 1;
}

static void announce(int fd)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (!getsockname(fd, (struct sockaddr *)&addr, &len) &&
        !getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port,
                     sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV)) {
        tool_error(PROG,
                   strchr(host, ':') ? "listening on [%s]:%s" : "listening on %s:%s",
                   host, port);
    }
}

bool listen_valid(const char *where)
{
    const char *colon = strrchr(where, ':');
    uint64_t port;

    return strchr(where, '/') ||
           (tool_parse_u64(colon ? colon + 1 : where, &port) && port <= UINT16_MAX);
}

static int open_tcp(const char *where)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char *copy = strdup(where);
    const char *host, *port = copy ? split(copy, &host) : NULL;
    int fd = -1, on = 1;
    int error = port ? getaddrinfo(host, port, &hints, &list) : EAI_MEMORY;

    if (error) {
        free(copy);
        return failed(where, gai_strerror(error));
    }
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        }
        if (!listen_at(fd, a->ai_addr, a->ai_addrlen)) {
            break;
        }
        error = errno;
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(list);
    free(copy);
    if (fd < 0) {
        return failed(where, strerror(error));
    }
    announce(fd);
    return fd;
}

int listen_open(const char *where)
{
    return strchr(where, '/') ? open_unix(where) : open_tcp(where);
}

int listen_accept(int fd)
{
    int got, on = 1;

    do {
        got = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (got < 0) {
        tool_error(PROG, "accept: %s", strerror(errno));
        return -1;
    }
    setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof(on)); /* fails on UNIX sockets */
    return got;
}

void listen_close(int fd, const char *where)
{
    close(fd);
    if (strchr(where, '/')) {
        unlink(where);
    }
}
