/* SPDX-License-Identifier: MIT */
/*
 * The numbers of FORMAT.md, which is the specification: types of sections,
 * offsets of their fields, limits.  Used by writer and reader alike.
 */
#ifndef CTR_FORMAT_H
#define CTR_FORMAT_H

/* zstd's skippable frames */
#define FRAME_HEAD 8u /* u32 magic, u32 size of what follows */
#define FRAME_OURS 0x184D2A5Cu
#define FRAME_SEEK_TABLE 0x184D2A5Eu
#define SEEK_FOOT_MAGIC 0x8F92EAB1u
#define SEEK_FOOT 9u  /* u32 frames, u8 descriptor, u32 magic */
#define SEEK_ENTRY 8u /* u32 csize, u32 dsize */
#define SEEK_MAX_FRAMES 0x08000000u

/* file header: the first frame */
#define FILE_MAGIC                                                                       \
    "\x89"                                                                               \
    "CTR\r\n\x1a\n"
#define FILE_MAGIC_BYTES 8u
#define FILE_HEAD 40u /* with the frame's head */
#define FILE_OFF_MAGIC 8u
#define FILE_OFF_VERSION 16u
#define FILE_OFF_INCOMPAT 20u
#define FILE_INCOMPAT_ARGS 0x1u      /* THREAD events can have arguments of programs */
#define FILE_INCOMPAT_MACHINE 0x2u   /* events, definitions of machines */
#define FILE_INCOMPAT_ORDER 0x4u     /* SLICE events, CHUNK_F_FIRST */
#define FILE_INCOMPAT_PHYS 0x8u      /* chunks with FRAME_PAGES, MMU indexes of slots */
#define FILE_INCOMPAT_POWER 0x10u    /* POWER events */
#define FILE_INCOMPAT_MEMORY 0x20u   /* RAM, DMA, IO events */
#define FILE_INCOMPAT_TASK 0x40u     /* TASK events */
#define FILE_INCOMPAT_AREA 0x80u     /* AREA events */
#define FILE_INCOMPAT_KEY 0x100u     /* KEYFRAME events, and pages of PARTs with them */
#define FILE_INCOMPAT_DISCARD 0x200u /* MAP events can discard memory */
#define FILE_INCOMPAT_SAVED 0x400u   /* POWER events with SAVED or LOADED */
#define FILE_INCOMPAT_INPUT 0x800u   /* INPUT events */
#define FILE_INCOMPAT_KNOWN                                                              \
    (FILE_INCOMPAT_ARGS | FILE_INCOMPAT_MACHINE | FILE_INCOMPAT_ORDER |                  \
     FILE_INCOMPAT_PHYS | FILE_INCOMPAT_POWER | FILE_INCOMPAT_MEMORY |                   \
     FILE_INCOMPAT_TASK | FILE_INCOMPAT_AREA | FILE_INCOMPAT_KEY |                       \
     FILE_INCOMPAT_DISCARD | FILE_INCOMPAT_SAVED | FILE_INCOMPAT_INPUT)
#define FILE_OFF_COMPAT 24u
#define FILE_COMPAT_PAGE_0 0x1u /* PART's pages: page 0 is listed where it was touched */
#define FILE_OFF_ZERO 28u
#define FILE_OFF_HASH 32u /* XXH64 of bytes 0..31 */
#define FORMAT_VERSION 7u

/* section header: a frame of ours; offsets from the frame's start */
#define SECT_TAG 0x54434553u /* "SECT" */
#define SECT_OFF_TAG 8u
#define SECT_OFF_TYPE 12u    /* u16 */
#define SECT_OFF_FLAGS 14u   /* u16 */
#define SECT_OFF_SEQ 16u     /* u32 */
#define SECT_OFF_NFRAMES 20u /* u16 */
#define SECT_OFF_BODY 22u    /* u16 bytes of the body */
#define SECT_OFF_FRAMES 24u
#define SECT_FRAME 16u /* u32 csize, u32 dsize, u64 XXH64 */
#define SECT_HASH 8u   /* XXH64 of all before, at the end */
#define SECT_MAX_FRAMES 8u
#define SECT_MAX_BODY 256u
#define SECT_MAX_HEAD                                                                    \
    (SECT_OFF_FRAMES + SECT_MAX_FRAMES * SECT_FRAME + SECT_MAX_BODY + SECT_HASH)
#define SECT_REQUIRED 0x1u /* a reader must know this type */

enum {
    SECT_META = 1,
    SECT_PROCESS = 2,
    SECT_THREAD = 3,
    SECT_DICT = 4,
    SECT_CHUNK = 5,
    SECT_PART = 6,
    SECT_ROOT = 7,
    SECT_END = 8,
    SECT_REGS = 9,
    SECT_EMBED = 10,
};

#define MAX_THREADS (1u << 24) /* and processes */

/* META: body */
#define META_DROPPED_INSNS 0u   /* u64 */
#define META_DROPPED_LOADS 8u   /* u64 */
#define META_DROPPED_STORES 16u /* u64 */
#define META_DROPPED_CHUNKS 24u /* u64 */
#define META_BODY 32u

/* META: frame 0 */
#define META_EVENTS 0u     /* u32 */
#define META_MACHINE 4u    /* u32 */
#define META_BIG_ENDIAN 8u /* u8 */
#define META_ADDR_BITS 9u  /* u8 */
#define META_ZERO 10u      /* u16 */
#define META_ARGC 12u      /* u32 */
#define META_REALTIME 16u  /* u64 */
#define META_START 24u     /* u64 */
#define META_STRINGS 32u   /* target, qemu, recorder, argv, selection; NUL after each */
#define META_MAX (8u << 20)

/* PROCESS: body, and with an end in ROOT */
#define PROC_INDEX 0u  /* u32 */
#define PROC_PID 4u    /* i32 */
#define PROC_PPID 8u   /* i32 */
#define PROC_HOST 12u  /* i32 */
#define PROC_START 16u /* u64 */
#define PROC_BODY 24u
#define PROC_END 24u    /* u64 */
#define PROC_REASON 32u /* u32 */
#define PROC_STATUS 36u /* i32 */
#define PROC_ROW 40u

/* THREAD: body, and with an end in ROOT */
#define THR_INDEX 0u   /* u32 */
#define THR_PROCESS 4u /* u32 */
#define THR_TID 8u     /* i32 */
#define THR_PTID 12u   /* i32 */
#define THR_START 16u  /* u64 */
#define THR_BODY 24u
#define THR_END 24u    /* u64 */
#define THR_REASON 32u /* u32 */
#define THR_STATUS 36u /* i32 */
#define THR_FLAGS 40u  /* u32: bit 0 incomplete */
#define THR_ZERO 44u   /* u32 */
#define THR_FIRST 48u  /* u64 ordinal of its first instruction */
#define THR_INSNS 56u  /* u64 */
#define THR_LOADS 64u  /* u64 */
#define THR_STORES 72u /* u64 */
#define THR_CHUNKS 80u /* u64 */
#define THR_ROW 88u
#define THR_INCOMPLETE 0x1u

/* DICT: body; frame 0: u32 id, u32 bytes, definition, ... */
#define DICT_FIRST 0u /* u32 id */
#define DICT_COUNT 4u /* u32 */
#define DICT_BODY 8u
#define DICT_MAX_IDS 0xffff0000u
#define DICT_MAX_RAW (2u << 20)

/* CHUNK: body; the frames are its columns */
#define CHUNK_NUMBER 0u       /* u64 */
#define CHUNK_THREAD 8u       /* u32 */
#define CHUNK_FLAGS 12u       /* u32 */
#define CHUNK_FIRST 16u       /* u64 */
#define CHUNK_INSNS 24u       /* u64 */
#define CHUNK_LOADS 32u       /* u64 */
#define CHUNK_STORES 40u      /* u64 */
#define CHUNK_START 48u       /* u64 */
#define CHUNK_END 56u         /* u64 */
#define CHUNK_RUNS 64u        /* u32 */
#define CHUNK_MAX_ID 68u      /* u32 highest block id */
#define CHUNK_LAST_FIRST 72u  /* u32 first instruction of ... */
#define CHUNK_LAST 76u        /* u32 block of the run that waits at the end, or 0 */
#define CHUNK_LOCALS 80u      /* u32 */
#define CHUNK_TOKENS 84u      /* u32 */
#define CHUNK_TOKEN_MISS 88u  /* u32 halfwords */
#define CHUNK_ADDRS 92u       /* u32 accesses with an address of their own */
#define CHUNK_ADDR_MISS 96u   /* u32 */
#define CHUNK_EXTRAS 100u     /* u32 extra accesses */
#define CHUNK_REGS 104u       /* u32 register slots made */
#define CHUNK_REG_EXTRAS 108u /* u32 extra register changes */
#define CHUNK_EVENTS 112u     /* u32 */
#define CHUNK_ZERO 116u       /* u32 */
#define CHUNK_NEXT 120u       /* u64 where the thread went first */
#define CHUNK_BODY 128u
#define CHUNK_F_RESUMES 0x1u       /* has resumed runs */
#define CHUNK_F_MAPS 0x2u          /* has CTR_EVENT_MAP */
#define CHUNK_F_THREADS 0x4u       /* has CTR_EVENT_THREAD */
#define CHUNK_F_SYSTEM 0x8u        /* has other events */
#define CHUNK_F_MARKS 0x10u        /* has marks, gates, labels, selections */
#define CHUNK_F_GAP 0x20u          /* the thread's first; others before it were dropped */
#define CHUNK_F_NEXT 0x40u         /* CHUNK_NEXT is valid */
#define CHUNK_F_BREAK 0x80u        /* where the thread went first is not known */
#define CHUNK_F_INTERRUPTS 0x100u  /* has CTR_EVENT_INTERRUPT or _INTRET */
#define CHUNK_F_CONTEXTS 0x200u    /* has CTR_EVENT_CONTEXT */
#define CHUNK_F_SLICES 0x400u      /* has CTR_EVENT_SLICE */
#define CHUNK_F_POWER 0x1000u      /* has CTR_EVENT_POWER */
#define CHUNK_F_RAM 0x2000u        /* has CTR_EVENT_RAM */
#define CHUNK_F_DMA 0x4000u        /* has CTR_EVENT_DMA */
#define CHUNK_F_IO 0x8000u         /* has CTR_EVENT_IO */
#define CHUNK_F_TASKS 0x10000u     /* has CTR_EVENT_TASK */
#define CHUNK_F_AREAS 0x20000u     /* has CTR_EVENT_AREA */
#define CHUNK_F_KEYFRAMES 0x40000u /* has CTR_EVENT_KEYFRAME */
#define CHUNK_F_INPUTS 0x80000u    /* has CTR_EVENT_INPUT */
#define CHUNK_F_FIRST 0x800u /* no chunk that was begun before it ended after that */
#define CHUNK_F_EVENTS                                                                   \
    (CHUNK_F_MAPS | CHUNK_F_THREADS | CHUNK_F_SYSTEM | CHUNK_F_MARKS |                   \
     CHUNK_F_INTERRUPTS | CHUNK_F_CONTEXTS | CHUNK_F_SLICES | CHUNK_F_POWER |            \
     CHUNK_F_RAM | CHUNK_F_DMA | CHUNK_F_IO | CHUNK_F_TASKS | CHUNK_F_AREAS |            \
     CHUNK_F_KEYFRAMES | CHUNK_F_INPUTS)
#define CHUNK_F_HAS (CHUNK_F_RESUMES | CHUNK_F_EVENTS | CHUNK_F_GAP | CHUNK_F_FIRST)
#define CHUNK_F_ALL (CHUNK_F_HAS | CHUNK_F_NEXT | CHUNK_F_BREAK)
enum {
    FRAME_WORDS = 0,
    FRAME_ADDRS = 1,
    FRAME_EXTRAS = 2,
    FRAME_VALUES = 3,
    FRAME_REGS = 4,
    FRAME_EVENTS = 5,
    FRAME_STATE = 6,
    CHUNK_FRAMES = 7,
    /* with CTR_EVENTS_PHYS: */
    FRAME_PAGES = 7,
    CHUNK_PHYS_FRAMES = 8,
};

/*
 * A chunk's limits, which bound the memory of a reader: 64 MiB for each worker, whoever
 * wrote the file. The encoder ends a chunk before them, so that a recorded one takes some
 * 40 MiB at most (doc/performance.md, "Memory of a reader").
 */
#define MAX_LOCALS (1u << 16)
#define MAX_TOKENS (1u << 21) /* including the numbers after LEFT */
#define MAX_ADDRS (1u << 22)
#define MAX_EXTRAS (1u << 21)
#define MAX_REG_SLOTS (1u << 22) /* made in a chunk */
#define MAX_REG_EXTRAS (1u << 22)
#define MAX_CHUNK_EVENTS (1u << 22)
#define MAX_CHUNK_SLOTS (136u << 10)  /* slots of all blocks of a chunk */
#define MAX_CHUNK_PIECES (256u << 10) /* pieces of their values */
#define MAX_CHUNK_DEFS (5u << 20)     /* bytes of their definitions */
#define MAX_CHUNK_PAGES (1u << 17)    /* known ones and fills */
#define MAX_PIECES (1u << 23)         /* of the values made in a chunk, each column */
#define MAX_COLUMN (10u << 20)        /* bytes of all columns of a chunk */

/* token misses: 16-bit units */
#define TOK16_GROUP 0xe000u /* + group, 1..0xfff */
#define TOK16_GROUP_MAX 0x0fffu
#define TOK16_ESCAPE 0xffffu /* then the token, low half first */
#define TOK_NONE 0xffffffffu /* no prediction yet */

/* PART: body; frame 0 rows, 1 block counts, 2 pages */
#define PART_FIRST 0u /* u64 number of its first chunk */
#define PART_COUNT 8u /* u32 chunks */
#define PART_ZERO 12u /* u32 */
#define PART_BODY 16u
#define PART_MAX_CHUNKS 256u
#define PART_MAX_RAW (6u << 20) /* of all columns */
#define ROW_OFF 0u              /* u64 offset of the chunk's section */
#define ROW_BYTES 8u            /* u64 of the whole section */
#define ROW_RAW 16u             /* u64 */
#define ROW_CHUNK 24u           /* the chunk's body up to CHUNK_LOCALS */
#define ROW_CHUNK_BYTES 80u
#define ROW_NEXT 104u /* u64 CHUNK_NEXT */
#define ROW 112u
#define PAGE_BITS 12u
#define PAGE_BYTES (1u << PAGE_BITS)
#define MAX_PAGES (1u << 16) /* of a set; more: "any page" */
#define MAX_INLINE_SIZE 128u /* longest access of a slot */
#define MAX_REG_BYTES 16u

/* REGS: body; frame 0: the table, as in events.h */
#define REGS_COUNT 0u /* u32 entries */
#define REGS_STATE 4u /* u32 bytes of a state */
#define REGS_BODY 8u
#define REGS_MAX_RAW (2u << 20)

/* ROOT: body; frame 0: parts, dicts, processes, threads */
#define ROOT_PARTS 0u     /* u32 */
#define ROOT_DICTS 4u     /* u32 */
#define ROOT_PROCESSES 8u /* u32 */
#define ROOT_THREADS 12u  /* u32 */
#define ROOT_CHUNKS 16u   /* u64 */
#define ROOT_INSNS 24u    /* u64 */
#define ROOT_LOADS 32u    /* u64 */
#define ROOT_STORES 40u   /* u64 */
#define ROOT_BLOCKS 48u   /* u32 */
#define ROOT_ZERO 52u     /* u32 */
#define ROOT_REGS 56u     /* u64 offset of REGS, 0: there is none */
#define ROOT_RAW 64u      /* u64 bytes of all columns decompressed */
#define ROOT_BODY 72u
#define ROOT_EMBED 72u /* u64 offset of the last EMBED; only if there is one */
#define ROOT_EMBED_FLAGS 80u
#define ROOT_EMBED_CHECKED 0x1u /* u64: what is not marked was not changed */
#define ROOT_EMBED_BODY 88u
#define RPART_OFF 0u          /* u64 offset of the PART */
#define RPART_FIRST 8u        /* u64 number of its first chunk */
#define RPART_CHUNKS 16u      /* u32 */
#define RPART_FLAGS 20u       /* u32 all that any of its chunks has */
#define RPART_CHUNK_OFF 24u   /* u64 offset of its first chunk */
#define RPART_FROM 32u        /* u64 lowest ordinal */
#define RPART_TO 40u          /* u64 highest + 1 */
#define RPART_FROM_NS 48u     /* u64 when the first was begun */
#define RPART_TO_NS 56u       /* u64 when the last was full */
#define RPART_LATE_NS 64u     /* u64 when the last was begun */
#define RPART_THREAD 72u      /* u32 lowest number of a thread */
#define RPART_LAST_THREAD 76u /* u32 highest */
#define ROOT_PART_ROW 80u
#define ROOT_DICT_ROW 16u /* u64 offset, u32 first id, u32 count */
#define ROOT_MAX_RAW (256u << 20)

/* EMBED: body; frame 0: path, frame 1: bytes of the file */
#define EMBED_NUMBER 0u /* u32 of the contents */
#define EMBED_FLAGS 4u  /* u32 */
#define EMBED_F_CHANGED 0x1u
#define EMBED_DEV 8u     /* u64 */
#define EMBED_INODE 16u  /* u64 */
#define EMBED_SIZE 24u   /* u64 of the file */
#define EMBED_OFFSET 32u /* u64 of the bytes in the file */
#define EMBED_BEFORE 40u /* u64 offset of the EMBED before, 0: this is the first */
#define EMBED_BODY 48u
#define EMBED_MAX_PATH 4096u
#define EMBED_MAX_FILES (1u << 16)
#define EMBED_MAX_BYTES (4u << 20)

/* END: body */
#define END_ROOT 0u       /* u64 offset of ROOT */
#define END_META 8u       /* u64 offset of META */
#define END_SEEK_HASH 16u /* u64 XXH64 of the seek table's frame */
#define END_BODY 24u
#define END_BYTES (SECT_OFF_FRAMES + END_BODY + SECT_HASH)

#endif
