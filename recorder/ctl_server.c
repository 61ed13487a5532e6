/* SPDX-License-Identifier: MIT */
/*
 * Requests arrive concurrently, and no client holds up another one.  The thread passes
 * each complete request to the main loop and waits for its answer.  Only the main loop
 * changes the recording, so that nothing there needs a lock.
 */
#include "ctl_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ctlsock.h"

#define CLIENTS 16
/* A client that does not read its answer within this time does not get it. */
#define PATIENCE_S 10

struct client {
    int fd;
    size_t len;
    char *text; /* of the request so far */
};

struct ctl_server {
    struct mempipe_host *host;
    ctl_prepare_fn *prepare;
    void *arg;
    char *path;
    dev_t dev; /* of the socket's file: another one is not ours to remove */
    ino_t ino;
    int listener, stop;
    pthread_t thread;
    struct client clients[CLIENTS];
    unsigned n_clients;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t answered;
    char *request; /* NULL: none */
    struct ctl_answer answer;
    bool has_answer, ending;
};

static void append(struct ctl_answer *a, const char *format, va_list ap)
{
    va_list again;
    size_t need;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    need = a->len + (size_t)n + 1;
    if (n < 0 || need > CTLSOCK_REQUEST_BYTES) {
        return;
    }
    if (need > a->cap) {
        char *more = realloc(a->data, 2 * need);
        if (!more) {
            return;
        }
        a->data = more;
        a->cap = 2 * need;
    }
    vsnprintf(a->data + a->len, (size_t)n + 1, format, ap);
    a->len = need;
}

void ctl_answer_text(struct ctl_answer *a, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    append(a, format, ap);
    va_end(ap);
}

void ctl_answer_error(struct ctl_answer *a, const char *format, ...)
{
    va_list ap;

    a->len = 0;
    ctl_answer_text(a, CTLSOCK_ERROR);
    va_start(ap, format);
    append(a, format, ap);
    va_end(ap);
}

/* ---------------------------------------------------------------- the thread */

/* Passes the request to the main loop; false: that has ended. */
static bool submit(struct ctl_server *srv, char *request, struct ctl_answer *answer)
{
    bool ok;

    pthread_mutex_lock(&srv->lock);
    srv->request = request;
    srv->has_answer = false;
    pthread_mutex_unlock(&srv->lock);
    mempipe_host_ring(srv->host);
    pthread_mutex_lock(&srv->lock);
    while (!srv->has_answer && !srv->ending) {
        pthread_cond_wait(&srv->answered, &srv->lock);
    }
    ok = srv->has_answer;
    if (ok) {
        *answer = srv->answer;
    }
    srv->request = NULL;
    pthread_mutex_unlock(&srv->lock);
    return ok;
}

static void send_answer(int fd, const struct ctl_answer *answer)
{
    size_t done = 0;
    ssize_t n;

    while (done < answer->len) {
        n = send(fd, answer->data + done, answer->len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        done += (size_t)n;
    }
}

/* The client has sent everything: answers it. */
static void serve(struct ctl_server *srv, struct client *c)
{
    struct ctl_answer answer = {0};

    /* Without a terminator it may be a part of a request whose sender has died. */
    if (!c->len || (c->text[c->len - 1] && c->text[c->len - 1] != '\n')) {
        return;
    }
    c->text[c->len - 1] = '\0';
    if (srv->prepare(srv->arg, c->text, &answer)) {
        free(answer.data);
        answer = (struct ctl_answer){0};
        if (!submit(srv, c->text, &answer)) {
            ctl_answer_error(&answer, "the recording has ended");
        }
    }
    send_answer(c->fd, &answer);
    free(answer.data);
}

static void drop_client(struct ctl_server *srv, unsigned i)
{
    close(srv->clients[i].fd);
    free(srv->clients[i].text);
    srv->clients[i] = srv->clients[--srv->n_clients];
}

static void accept_client(struct ctl_server *srv)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = accept4(srv->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) {
        return;
    }
    if (srv->n_clients == CLIENTS) {
        drop_client(srv, 0);
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    srv->clients[srv->n_clients++] = (struct client){.fd = fd};
}

/* Reads what a client has written; false: the client is finished. */
static bool hear(struct ctl_server *srv, struct client *c)
{
    char more[4096];
    ssize_t n = recv(c->fd, more, sizeof(more), MSG_DONTWAIT);
    char *text;

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (n == 0) {
        serve(srv, c);
        return false;
    }
    text = realloc(c->text, c->len + (size_t)n);
    if (!text || c->len + (size_t)n > CTLSOCK_REQUEST_BYTES) {
        c->text = text ? text : c->text;
        return false;
    }
    c->text = text;
    memcpy(c->text + c->len, more, (size_t)n);
    c->len += (size_t)n;
    return true;
}

static void *server_main(void *arg)
{
    struct ctl_server *srv = arg;

    for (;;) {
        struct pollfd p[2 + CLIENTS] = {
            {.fd = srv->stop, .events = POLLIN},
            {.fd = srv->listener, .events = POLLIN},
        };
        unsigned n = srv->n_clients;

        for (unsigned i = 0; i < n; i++) {
            p[2 + i] = (struct pollfd){.fd = srv->clients[i].fd, .events = POLLIN};
        }
        if (poll(p, 2 + n, -1) < 0) {
            continue;
        }
        if (p[0].revents) {
            break;
        }
        for (unsigned i = n; i-- > 0;) {
            if (p[2 + i].revents && !hear(srv, &srv->clients[i])) {
                drop_client(srv, i);
            }
        }
        if (p[1].revents) {
            accept_client(srv);
        }
    }
    while (srv->n_clients) {
        drop_client(srv, srv->n_clients - 1);
    }
    return NULL;
}

/* ------------------------------------------------------------- the main loop */

int ctl_server_open(struct ctl_server **out, const char *path, struct mempipe_host *host,
                    ctl_prepare_fn *prepare, void *arg)
{
    struct ctl_server *srv = calloc(1, sizeof(*srv));
    sigset_t all, old;
    struct stat st;
    int err = -ENOMEM;

    if (!srv) {
        return err;
    }
    srv->host = host;
    srv->prepare = prepare;
    srv->arg = arg;
    srv->path = strdup(path);
    if (!srv->path) {
        goto out_free;
    }
    srv->listener = ctlsock_listen(path);
    if (srv->listener < 0) {
        err = srv->listener;
        goto out_free;
    }
    srv->stop = eventfd(0, EFD_CLOEXEC);
    if (srv->stop < 0 || lstat(path, &st) < 0) {
        err = -errno;
        goto out_socket;
    }
    srv->dev = st.st_dev;
    srv->ino = st.st_ino;
    pthread_mutex_init(&srv->lock, NULL);
    pthread_cond_init(&srv->answered, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = -pthread_create(&srv->thread, NULL, server_main, srv);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!err) {
        *out = srv;
        return 0;
    }
    pthread_mutex_destroy(&srv->lock);
    pthread_cond_destroy(&srv->answered);

out_socket:
    unlink(path);
    close(srv->listener);
    if (srv->stop >= 0) {
        close(srv->stop);
    }
out_free:
    free(srv->path);
    free(srv);
    return err;
}

void ctl_server_close(struct ctl_server *srv)
{
    uint64_t one = 1;
    struct stat st;

    if (!srv) {
        return;
    }
    if (lstat(srv->path, &st) == 0 && st.st_dev == srv->dev && st.st_ino == srv->ino) {
        unlink(srv->path);
    }
    pthread_mutex_lock(&srv->lock);
    srv->ending = true;
    pthread_cond_signal(&srv->answered);
    pthread_mutex_unlock(&srv->lock);
    if (write(srv->stop, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
        pthread_join(srv->thread, NULL);
    }
    close(srv->stop);
    close(srv->listener);
    pthread_mutex_destroy(&srv->lock);
    pthread_cond_destroy(&srv->answered);
    free(srv->path);
    free(srv);
}

const char *ctl_server_request(struct ctl_server *srv)
{
    const char *request;

    pthread_mutex_lock(&srv->lock);
    request = srv->has_answer ? NULL : srv->request;
    pthread_mutex_unlock(&srv->lock);
    return request;
}

void ctl_server_answer(struct ctl_server *srv, struct ctl_answer *answer)
{
    pthread_mutex_lock(&srv->lock);
    srv->answer = *answer;
    srv->has_answer = true;
    pthread_cond_signal(&srv->answered);
    pthread_mutex_unlock(&srv->lock);
    *answer = (struct ctl_answer){0};
}
