/* SPDX-License-Identifier: MIT */
/*
 * Start and exceptions of the machine's program for x86_64, -M pc -bios: real mode,
 * protected mode, long mode.
 */
    .set ROM, 0xffff0000
    .set OFFSET, ROM - 0x100000

    .section .reset, "ax"
    .code16
_start:
    .byte 0xe9                      /* jmp real_mode */
    .word real_mode - (_start + 3)
    .balign 16, 0xff

    .section .text.start, "ax"      /* the first one of the image */
    .code16
real_mode:
    cli
    movw $0x20, %cx                 /* writes are lost here, reads are not */
1:  movw %cs:gdt_pointer - 0x100000, %ax
    loopw 1b
    lgdtl %cs:gdt_pointer - 0x100000
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x18, $protected_mode + OFFSET

    .code32
protected_mode:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movw %ax, %fs
    movw %ax, %gs
    movl $1, %eax                   /* the number of this vCPU, that of its local APIC */
    cpuid
    shrl $24, %ebx
    movl $paging, %eax
    jz 1f
    jmp *%eax                       /* memory is as the first one left it */
1:  movl $ROM, %esi
    movl $0x100000, %edi
    movl $0x10000 / 4, %ecx
    rep movsl
    movl $bss, %edi
    movl $bss_end, %ecx
    subl %edi, %ecx
    xorl %eax, %eax
    rep stosb
    movl $copied, %eax
    jmp *%eax
copied:
    movl $level4, %edi              /* 1 GiB of pages of 2 MiB where they are */
    movl $level3 + 7, (%edi)
    movl $level2 + 7, level3
    movl $level2, %edi
    movl $0x87, %eax
1:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x200000, %eax
    cmpl $0x40000087, %eax
    jne 1b
    movl $window_table + 7, %eax    /* the window: pages of 4 KiB at 512 MiB */
    movl %eax, level2 + 256 * 8
paging:
    lgdtl own_gdt_pointer
    movl $level4, %eax
    movl %eax, %cr3
    movl %cr4, %eax
    orl $0x20, %eax                 /* PAE */
    movl %eax, %cr4
    movl $0xc0000080, %ecx          /* EFER: long mode, SYSCALL */
    rdmsr
    orl $0x101, %eax
    wrmsr
    movl %cr0, %eax
    orl $0x80010000, %eax           /* PG, WP */
    movl %eax, %cr0
    ljmpl $0x08, $long_mode

    .code64
long_mode:
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl %ebx, %edi
    testl %edi, %edi
    jnz secondary
    movq $stack_top, %rsp
    call machine_main
    .global machine_off
machine_off:                        /* reset by the keyboard controller */
    movb $0xfe, %al
    .global machine_ends
machine_ends:
    outb %al, $0x64
1:  hlt
    jmp 1b

/* The other vCPUs, of a program that has some (x86_64-vcpus.c): their first instruction is that
 * of real_mode, too, which they see at 0xf0000. */
    .weak stacks, machine_secondary
    .global secondary
secondary:
    leaq 1(%rdi), %rsp
    shlq $12, %rsp
    addq $stacks, %rsp
    call machine_secondary
1:  cli
    hlt
    jmp 1b

/* (code, end of its stack): runs the code in ring 3 until it calls INT 0x81. */
    .global enter_user
enter_user:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, kernel_stack
    movq %rsp, tss + 4
    pushq $0x2b                     /* data, ring 3 */
    pushq %rsi
    pushq $2
    pushq $0x33                     /* code, ring 3 */
    pushq %rdi
    iretq
    .global user_left
user_left:
    movq kernel_stack, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret

/* SYSCALL comes here. */
    .global on_syscall
on_syscall:
    incq nr_syscalls
    sysretq

    .macro entry number, error
    .balign 16
    .if \error == 0
    pushq $0
    .endif
    pushq $\number
    jmp enter
    .endm

    .balign 16
    .global entries
entries:
    .set number, 0
    .rept 34
    .if number == 8 || (number >= 10 && number <= 14) || number == 17
    entry number, 1
    .else
    entry number, 0
    .endif
    .set number, number + 1
    .endr
    .balign 16
    .global entry_80
entry_80:
    pushq $0
    pushq $0x80
    jmp enter
    .balign 16
    .global entry_81
entry_81:
    addq $40, %rsp
    jmp user_left

enter:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    movq 72(%rsp), %rdi             /* number, error, pc */
    movq 80(%rsp), %rsi
    movq 88(%rsp), %rdx
    cld
    call on_exception               /* returns the pc to go on at */
    movq %rax, 88(%rsp)
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    addq $16, %rsp
    iretq

    .balign 8
    .global gdt
gdt:
    .quad 0
    .quad 0x00af9a000000ffff        /* 08: code, 64 bits */
    .quad 0x00cf92000000ffff        /* 10: data */
    .quad 0x00cf9a000000ffff        /* 18: code, 32 bits */
    .quad 0x00affa000000ffff        /* 20: code, ring 3, 32 bits of SYSRET, not used */
    .quad 0x00cff2000000ffff        /* 28: data, ring 3 */
    .quad 0x00affa000000ffff        /* 30: code, ring 3, 64 bits */
    .quad 0, 0                      /* 38: the TSS */
gdt_pointer:
    .word . - gdt - 1
    .long gdt + OFFSET
own_gdt_pointer:
    .word gdt_pointer - gdt - 1
    .long gdt

    .bss
    .balign 4096
level4: .skip 4096
level3: .skip 4096
level2: .skip 4096
kernel_stack: .skip 8
