/* SPDX-License-Identifier: MIT */
/* Text in a buffer that the system read and wrote; see tracesym-calls.sh. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char buf[4000];

__attribute__((noinline)) int show(const char *text)
{
    __asm__ volatile("" ::: "memory");
    return text[0];
}

int main(void)
{
    int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
    int sum;

    strcpy(buf + 3500, "stored before");
    strcpy(buf + 2000, "overwritten");
    read(in, buf, 3000);
    write(out, buf, sizeof(buf));
    sum = show(buf + 3500) + show(buf + 2000) + show("in the file");
    __asm__ volatile("" ::"m"(buf));
    sum += buf[1000];
    return show(buf + 1000) + sum == 0;
}
