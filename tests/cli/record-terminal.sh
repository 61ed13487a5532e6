# SPDX-License-Identifier: MIT
# The terminal belongs to the recorded program: nothing is printed between its prompts, and
# what is printed for a user who wants it changes no line of the program's.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 x86_64-linux-gnu-gcc

cat >talk.c <<'END2'
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
/* Instructions all the time, and not much of a processor. */
static void compute(void)
{
    for (volatile int i = 0; i < 20000; i++) {
    }
    usleep(5000);
}
/* Each argument is a step. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct pollfd in = {0, POLLIN, 0};
        char line[64];
        if (!strcmp(argv[i], "read")) {
            line[read(0, line, sizeof(line) - 1)] = 0;
            dprintf(1, "got %s", line);
        } else if (!strcmp(argv[i], "typed")) {
            while (poll(&in, 1, 0) == 0) {
                compute();
            }
        } else if (!strcmp(argv[i], "noecho")) {
            struct termios t;
            tcgetattr(0, &t);
            t.c_lflag &= ~ECHO;
            tcsetattr(0, TCSANOW, &t);
        } else if (!argv[i][strspn(argv[i], "0123456789")]) {
            for (long end = now_ms() + atoi(argv[i]); now_ms() < end;) {
                compute();
            }
        } else {
            dprintf(argv[i][0] == '!' ? 2 : 1, "%s", argv[i] + (argv[i][0] == '!'));
        }
    }
    return 0;
}
END2
$cc -static -O1 -o talk talk.c || exit 1
python3 "$SRC/tests/cli/record_terminal.py" "$record" "$qemu_dir" || fail "on a terminal"
finish
