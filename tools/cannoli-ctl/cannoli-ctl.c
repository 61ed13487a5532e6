/* SPDX-License-Identifier: MIT */
/*
 * cannoli-ctl: changes what cannoli-record records, while the program runs.  A request
 * is one connection to the recorder's socket; see common/ctlsock.h.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ctlsock.h"
#include "common/options.h"
#include "common/textbuf.h"

#define PROG "cannoli-ctl"

enum { OPT_JSON = TOOL_OPT_LONG };

static const struct tool_option table[] = {
    {'s', "socket", "SOCKET",
     "the recording's socket (default: the only FILE.ctl in\n"
     "this folder)"},
    {OPT_JSON, "json", NULL, "print status as one JSON object"},
    TOOL_OPTIONS_COMMON,
    {0},
};

enum operand { NONE, TEXT, LIBRARY, LIBRARY_LOADED, OPTIONAL_FILE };

static const struct {
    const char *name;
    enum operand operand;
    const char *what; /* the operand, for messages */
    const char *arg;  /* the same for completion, as in struct tool_option */
} commands[] = {
    {"pause", NONE, ""},
    {"resume", NONE, ""},
    {"mark", TEXT, "a text", "TEXT"},
    {"status", NONE, ""},
    {"load", LIBRARY, "a library", "LIB"},
    {"unload", LIBRARY_LOADED, "a library", "LIB"},
    {"dump", OPTIONAL_FILE, "", "[FILE]"},
};
static const struct words command_words = WORDS_OF_NAMES("command", commands);
static const struct words command_args = {"argument", &commands[0].arg,
                                          sizeof(commands[0]),
                                          sizeof(commands) / sizeof(commands[0])};

/* ------------------------------------------------------------------ sockets */

static bool is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The one recording in this folder; sockets without a server do not count. */
static int connect_here(void)
{
    const char *found = NULL;
    int fd = -1;
    glob_t g;

    if (glob("*.ctl", 0, NULL, &g)) {
        g.gl_pathc = 0;
    }
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *path = g.gl_pathv[i];
        int other = is_socket(path) ? ctlsock_connect(path) : -1;

        if (other >= 0 && fd >= 0) {
            tool_error(PROG,
                       "there are several recordings here, '%s' and '%s': choose "
                       "one with -s",
                       found, path);
            close(other);
            close(fd);
            fd = -1;
            goto out;
        }
        if (other >= 0) {
            fd = other;
            found = path;
        }
    }
    if (fd < 0) {
        tool_error(PROG, "there is no recording with --control in this folder: give "
                         "its socket with -s");
    }
out:
    globfree(&g);
    return fd;
}

/* The path of something that is not a socket, such as the trace. */
static void report_no_socket(const char *path)
{
    char socket_path[PATH_MAX];
    int n = snprintf(socket_path, sizeof(socket_path), "%s.ctl", path);

    if (n > 0 && (size_t)n < sizeof(socket_path) && is_socket(socket_path)) {
        tool_error(PROG, "'%s' is not a socket; did you mean '%s'?", path, socket_path);
    } else {
        tool_error(PROG, "'%s' is not a socket", path);
    }
}

static int connect_to(const char *path)
{
    struct stat st;
    int fd;

    if (!path) {
        return connect_here();
    }
    fd = ctlsock_connect(path);
    if (fd < 0 && stat(path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
        report_no_socket(path);
    } else if (fd == -ECONNREFUSED) {
        tool_error(PROG, "nothing listens on '%s': the recording has ended", path);
    } else if (fd < 0) {
        tool_error(PROG, "cannot connect to '%s': %s", path, strerror(-fd));
    }
    return fd;
}

static bool send_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t done = send(fd, text, n, MSG_NOSIGNAL);

        if (done < 0 && errno != EINTR) {
            return false;
        }
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return shutdown(fd, SHUT_WR) == 0;
}

/* Reads the answer, which then ends in a NUL. */
static bool receive_all(int fd, struct textbuf *b)
{
    for (;;) {
        char *to = textbuf_reserve(b, 4096);
        ssize_t n = to ? recv(fd, to, 4095, 0) : 0;

        if (n == 0 && to) {
            *to = '\0';
            return b->len > 0 && b->data[b->len - 1] == '\0';
        }
        if (!to || (n < 0 && errno != EINTR)) {
            return false;
        }
        textbuf_commit(b, to + (n > 0 ? n : 0));
    }
}

/* ------------------------------------------------------------------ requests */

/* Makes the path at the start of "PATH[,KEY=VALUE]..." absolute, as the recorder may
 * have been started in another folder.  Commas in the path are doubled. */
static bool add_library(struct textbuf *b, const char *text, bool must_be_there)
{
    char path[PATH_MAX], *real;
    size_t n = 0;
    const char *p = text;

    while (*p && (*p != ',' || p[1] == ',') && n < sizeof(path) - 1) {
        p += *p == ',';
        path[n++] = *p++;
    }
    path[n] = '\0';
    real = must_be_there || strchr(path, '/') ? realpath(path, NULL) : NULL;
    if (!real && must_be_there) {
        tool_error(PROG, "cannot use '%s': %s", path, strerror(errno));
        return false;
    }
    if (!real) {
        return textbuf_printf(b, "%s", text);
    }
    for (const char *q = real; *q; q++) {
        textbuf_printf(b, *q == ',' ? ",," : "%c", *q);
    }
    free(real);
    return textbuf_printf(b, "%s", p);
}

static bool add_file(struct textbuf *b, const char *name)
{
    char folder[PATH_MAX];

    if (name[0] != '/') {
        if (!getcwd(folder, sizeof(folder))) {
            tool_error(PROG, "cannot make '%s' absolute: %s", name, strerror(errno));
            return false;
        }
        textbuf_printf(b, "%s/", folder);
    }
    return textbuf_printf(b, "%s", name);
}

/* Appends a text and a NUL.  Returns 0, or the status to exit with. */
static int make_request(struct textbuf *b, char **words)
{
    const char *operand = words[0] ? words[1] : NULL;
    size_t i;
    bool ok;

    if (!words[0]) {
        return tool_usage_error(PROG, "no command");
    }
    i = words_find(&command_words, words[0], strlen(words[0]));
    if (i == command_words.n) {
        return tool_unknown_word(PROG, &command_words, words[0], strlen(words[0]));
    }
    if (!operand && commands[i].operand != NONE && commands[i].operand != OPTIONAL_FILE) {
        return tool_usage_error(PROG, "%s needs %s", words[0], commands[i].what);
    }
    if (operand && commands[i].operand == NONE) {
        return tool_usage_error(PROG, "%s takes no argument", words[0]);
    }
    if (operand && words[2]) {
        return tool_usage_error(PROG, "%s takes one argument%s", words[0],
                                commands[i].operand == TEXT ? "; quote the text" : "");
    }
    ok = textbuf_printf(b, "%s", words[0]);
    if (operand) {
        ok = ok && textbuf_printf(b, " ");
        switch (commands[i].operand) {
        case LIBRARY:
        case LIBRARY_LOADED:
            ok = ok && add_library(b, operand, commands[i].operand == LIBRARY);
            break;
        case OPTIONAL_FILE:
            ok = ok && add_file(b, operand);
            break;
        default:
            ok = ok && textbuf_printf(b, "%s", operand);
        }
    }
    if (ok && b->len >= CTLSOCK_REQUEST_BYTES) {
        tool_error(PROG, "'%s' with its operand is too long: %zu bytes, the limit is %u",
                   words[0], b->len, CTLSOCK_REQUEST_BYTES - 1);
        ok = false;
    }
    return ok ? 0 : TOOL_FAILED;
}

/* ------------------------------------------------------------------- answers */

static const char *next_text(const char *text)
{
    return text + strlen(text) + 1;
}

/* One item of an answer. */
struct item {
    char kind;
    const char *key, *value; /* value: NULL if there is none, of an empty list */
    size_t key_bytes;
};

static struct item item_of(const char *text)
{
    struct item it = {.kind = *text, .key = text + 1};

    it.key_bytes = strcspn(it.key, " ");
    it.value = it.key[it.key_bytes] ? it.key + it.key_bytes + 1 : NULL;
    return it;
}

/* Whether `it' is another value of the same list as `last'. */
static bool continues_list(const struct item *last, const struct item *it)
{
    return last->kind == '[' && it->kind == '[' && last->key_bytes == it->key_bytes &&
           !memcmp(last->key, it->key, it->key_bytes);
}

static void show(const char *text, const char *end)
{
    struct item last = {0};

    for (; text < end; text = next_text(text)) {
        struct item it = item_of(text);

        if (it.kind == '=') {
            puts(text + 1);
            continue;
        }
        if (continues_list(&last, &it)) {
            printf(" %s", it.value ? it.value : "");
        } else {
            const char *value = it.value ? it.value : "";
            int blanks = !*value ? 0 : it.key_bytes < 20 ? 20 - (int)it.key_bytes : 1;

            if (it.kind == '?') {
                value = *value == '1' ? "yes" : "no";
            }
            printf("%s%.*s:%*s%s", last.kind ? "\n" : "", (int)it.key_bytes, it.key,
                   blanks, "", value);
        }
        last = it;
    }
    if (last.kind) {
        putchar('\n');
    }
}

static bool json_value(struct textbuf *b, const struct item *it)
{
    if (!it->value) {
        return true;
    }
    switch (it->kind) {
    case '#':
        return textbuf_printf(b, "%s", it->value);
    case '?':
        return textbuf_printf(b, *it->value == '1' ? "true" : "false");
    default:
        return textbuf_json_string(b, it->value, strlen(it->value));
    }
}

static bool show_json(const char *text, const char *end)
{
    struct textbuf b = {0};
    struct item last = {0};
    bool ok = textbuf_printf(&b, "{");

    for (; text < end && ok; text = next_text(text)) {
        struct item it = item_of(text);

        if (continues_list(&last, &it)) {
            ok = textbuf_printf(&b, ",");
        } else {
            ok = textbuf_printf(&b, "%s%s", last.kind == '[' ? "]" : "",
                                last.kind ? "," : "") &&
                 textbuf_json_string(&b, it.key, it.key_bytes) &&
                 textbuf_printf(&b, it.kind == '[' ? ":[" : ":");
        }
        ok = ok && json_value(&b, &it);
        last = it;
    }
    ok = ok && textbuf_printf(&b, "%s}\n", last.kind == '[' ? "]" : "");
    if (ok) {
        fwrite(b.data, 1, b.len, stdout);
    }
    textbuf_fini(&b);
    return ok;
}

static int show_answer(const struct textbuf *answer, bool json)
{
    const char *text = next_text(answer->data), *end = answer->data + answer->len;

    if (strcmp(answer->data, CTLSOCK_OK)) {
        tool_error(PROG, "%s", text < end ? text : "the recorder refused");
        return TOOL_FAILED;
    }
    if (!json) {
        show(text, end);
    } else if (!show_json(text, end)) {
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int run(const char *path, bool json, char **words)
{
    struct textbuf request = {0}, answer = {0};
    int status = make_request(&request, words), fd = -1;

    if (!status && json && strcmp(words[0], "status")) {
        status = tool_usage_error(PROG, "--json works with status only");
    }
    if (!status) {
        fd = connect_to(path);
        status = fd < 0 ? TOOL_FAILED : TOOL_OK;
    }
    if (!status &&
        (!send_all(fd, request.data, request.len + 1) || !receive_all(fd, &answer))) {
        tool_error(PROG, "the recording has ended");
        status = TOOL_FAILED;
    }
    if (!status) {
        status = show_answer(&answer, json);
    }
    if (fd >= 0) {
        close(fd);
    }
    textbuf_fini(&request);
    textbuf_fini(&answer);
    return status;
}

int main(int argc, char **argv)
{
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... COMMAND",
        .about =
            "Changes what a running cannoli-record --control records.  Commands:\n"
            "  pause, resume   stop and continue recording; the program keeps running\n"
            "  mark TEXT       put a mark into the trace\n"
            "  status          show what is recorded, and the progress\n"
            "  load LIB[,KEY=VALUE]..\n"
            "  unload LIB      libraries that choose what is recorded\n"
            "  dump [FILE]     write what a recording with --ring holds now\n",
        .table = table,
        .argc = argc,
        .argv = argv,
        .commands = &command_words,
        .command_args = &command_args,
    };
    const char *path = NULL;
    bool json = false;
    int status = -1;

    while (status < 0) {
        switch (tool_options_next(&o)) {
        case TOOL_OPTIONS_END:
            status = run(path, json, argv + optind);
            break;
        case 's':
            path = o.arg;
            break;
        case OPT_JSON:
            json = true;
            break;
        case TOOL_OPT_HELP:
            tool_options_help(&o, stdout);
            status = TOOL_OK;
            break;
        case TOOL_OPT_VERSION:
            tool_print_version(PROG);
            status = TOOL_OK;
            break;
        case TOOL_OPT_COMPLETION:
            status = tool_print_completion(&o);
            break;
        default:
            status = TOOL_USAGE;
        }
    }
    tool_options_fini(&o);
    return tool_close_stdout(PROG, NULL, status);
}
