/* SPDX-License-Identifier: MIT */
/* For x86-64 programs of tests without a C library, so that traces are small. */
static long sys(long n, long a, long b, long c, long d)
{
    long ret;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return ret;
}
int main(long argc, char **argv);
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov (%rsp), %rdi\n lea 8(%rsp), %rsi\n"
        "call main\n mov %eax, %edi\n mov $231, %eax\n syscall\n");
