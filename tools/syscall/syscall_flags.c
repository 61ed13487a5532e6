/* SPDX-License-Identifier: MIT */
/*
 * Names of the numbers and flags of system calls that are the same on all machines;
 * guest_flags.c has the others.
 */
#include "syscall/syscall_flags.h"

#include <inttypes.h>

/* clang-format off */
static const struct guest_flag flags_access[] = {
    {0x4, "R_OK"}, {0x2, "W_OK"}, {0x1, "X_OK"}, {0, NULL},
};
static const struct guest_flag flags_at[] = {
    {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x200, "AT_REMOVEDIR"},
    {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"}, {0x1000, "AT_EMPTY_PATH"},
    {0x2000, "AT_STATX_FORCE_SYNC"}, {0x4000, "AT_STATX_DONT_SYNC"},
    {0x8000, "AT_RECURSIVE"}, {0, NULL},
};
static const struct guest_flag flags_eaccess[] = {
    {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x200, "AT_EACCESS"}, {0x1000, "AT_EMPTY_PATH"},
    {0, NULL},
};
static const struct guest_flag flags_prot[] = {
    {0x1, "PROT_READ"}, {0x2, "PROT_WRITE"}, {0x4, "PROT_EXEC"},
    {0x1000000, "PROT_GROWSDOWN"}, {0x2000000, "PROT_GROWSUP"}, {0, NULL},
};
static const struct guest_flag flags_clone[] = {
    {0x100, "CLONE_VM"}, {0x200, "CLONE_FS"}, {0x400, "CLONE_FILES"},
    {0x800, "CLONE_SIGHAND"}, {0x1000, "CLONE_PIDFD"}, {0x2000, "CLONE_PTRACE"},
    {0x4000, "CLONE_VFORK"}, {0x8000, "CLONE_PARENT"}, {0x10000, "CLONE_THREAD"},
    {0x20000, "CLONE_NEWNS"}, {0x40000, "CLONE_SYSVSEM"}, {0x80000, "CLONE_SETTLS"},
    {0x100000, "CLONE_PARENT_SETTID"}, {0x200000, "CLONE_CHILD_CLEARTID"},
    {0x400000, "CLONE_DETACHED"}, {0x800000, "CLONE_UNTRACED"},
    {0x1000000, "CLONE_CHILD_SETTID"}, {0x2000000, "CLONE_NEWCGROUP"},
    {0x4000000, "CLONE_NEWUTS"}, {0x8000000, "CLONE_NEWIPC"},
    {0x10000000, "CLONE_NEWUSER"}, {0x20000000, "CLONE_NEWPID"},
    {0x40000000, "CLONE_NEWNET"}, {0x80000000, "CLONE_IO"}, {0, NULL},
};
static const struct guest_flag flags_whence[] = {
    {0x0, "SEEK_SET"}, {0x1, "SEEK_CUR"}, {0x2, "SEEK_END"}, {0x3, "SEEK_DATA"},
    {0x4, "SEEK_HOLE"}, {0, NULL},
};
static const struct guest_flag flags_mremap[] = {
    {0x1, "MREMAP_MAYMOVE"}, {0x2, "MREMAP_FIXED"}, {0x4, "MREMAP_DONTUNMAP"},
    {0, NULL},
};
static const struct guest_flag flags_msync[] = {
    {0x1, "MS_ASYNC"}, {0x2, "MS_INVALIDATE"}, {0x4, "MS_SYNC"}, {0, NULL},
};
static const struct guest_flag flags_madvise[] = {
    {0x0, "MADV_NORMAL"}, {0x1, "MADV_RANDOM"}, {0x2, "MADV_SEQUENTIAL"},
    {0x3, "MADV_WILLNEED"}, {0x4, "MADV_DONTNEED"}, {0x8, "MADV_FREE"},
    {0x9, "MADV_REMOVE"}, {0xa, "MADV_DONTFORK"}, {0xb, "MADV_DOFORK"},
    {0xc, "MADV_MERGEABLE"}, {0xd, "MADV_UNMERGEABLE"}, {0xe, "MADV_HUGEPAGE"},
    {0xf, "MADV_NOHUGEPAGE"}, {0x10, "MADV_DONTDUMP"}, {0x11, "MADV_DODUMP"},
    {0x12, "MADV_WIPEONFORK"}, {0x13, "MADV_KEEPONFORK"}, {0x14, "MADV_COLD"},
    {0x15, "MADV_PAGEOUT"}, {0x16, "MADV_POPULATE_READ"}, {0x17, "MADV_POPULATE_WRITE"},
    {0, NULL},
};
static const struct guest_flag flags_futex[] = {
    {0x0, "FUTEX_WAIT"}, {0x1, "FUTEX_WAKE"}, {0x2, "FUTEX_FD"}, {0x3, "FUTEX_REQUEUE"},
    {0x4, "FUTEX_CMP_REQUEUE"}, {0x5, "FUTEX_WAKE_OP"}, {0x6, "FUTEX_LOCK_PI"},
    {0x7, "FUTEX_UNLOCK_PI"}, {0x8, "FUTEX_TRYLOCK_PI"}, {0x9, "FUTEX_WAIT_BITSET"},
    {0xa, "FUTEX_WAKE_BITSET"}, {0xb, "FUTEX_WAIT_REQUEUE_PI"},
    {0xc, "FUTEX_CMP_REQUEUE_PI"}, {0xd, "FUTEX_LOCK_PI2"}, {0, NULL},
};
static const struct guest_flag flags_futex_flags[] = {
    {0x80, "FUTEX_PRIVATE_FLAG"}, {0x100, "FUTEX_CLOCK_REALTIME"}, {0, NULL},
};
static const struct guest_flag flags_clockid[] = {
    {0x0, "CLOCK_REALTIME"}, {0x1, "CLOCK_MONOTONIC"},
    {0x2, "CLOCK_PROCESS_CPUTIME_ID"}, {0x3, "CLOCK_THREAD_CPUTIME_ID"},
    {0x4, "CLOCK_MONOTONIC_RAW"}, {0x5, "CLOCK_REALTIME_COARSE"},
    {0x6, "CLOCK_MONOTONIC_COARSE"}, {0x7, "CLOCK_BOOTTIME"},
    {0x8, "CLOCK_REALTIME_ALARM"}, {0x9, "CLOCK_BOOTTIME_ALARM"}, {0xb, "CLOCK_TAI"},
    {0, NULL},
};
static const struct guest_flag flags_timer[] = {
    {0x1, "TIMER_ABSTIME"}, {0, NULL},
};
static const struct guest_flag flags_fcntl[] = {
    {0x0, "F_DUPFD"}, {0x1, "F_GETFD"}, {0x2, "F_SETFD"}, {0x3, "F_GETFL"},
    {0x4, "F_SETFL"}, {0x5, "F_GETLK"}, {0x6, "F_SETLK"}, {0x7, "F_SETLKW"},
    {0x8, "F_SETOWN"}, {0x9, "F_GETOWN"}, {0xa, "F_SETSIG"}, {0xb, "F_GETSIG"},
    {0xc, "F_GETLK64"}, {0xd, "F_SETLK64"}, {0xe, "F_SETLKW64"}, {0xf, "F_SETOWN_EX"},
    {0x10, "F_GETOWN_EX"}, {0x24, "F_OFD_GETLK"}, {0x25, "F_OFD_SETLK"},
    {0x26, "F_OFD_SETLKW"}, {0x400, "F_SETLEASE"}, {0x401, "F_GETLEASE"},
    {0x402, "F_NOTIFY"}, {0x406, "F_DUPFD_CLOEXEC"}, {0x407, "F_SETPIPE_SZ"},
    {0x408, "F_GETPIPE_SZ"}, {0x409, "F_ADD_SEALS"}, {0x40a, "F_GET_SEALS"}, {0, NULL},
};
static const struct guest_flag flags_fd[] = {
    {0x1, "FD_CLOEXEC"}, {0, NULL},
};
static const struct guest_flag flags_rlimit[] = {
    {0x0, "RLIMIT_CPU"}, {0x1, "RLIMIT_FSIZE"}, {0x2, "RLIMIT_DATA"},
    {0x3, "RLIMIT_STACK"}, {0x4, "RLIMIT_CORE"}, {0x5, "RLIMIT_RSS"},
    {0x6, "RLIMIT_NPROC"}, {0x7, "RLIMIT_NOFILE"}, {0x8, "RLIMIT_MEMLOCK"},
    {0x9, "RLIMIT_AS"}, {0xa, "RLIMIT_LOCKS"}, {0xb, "RLIMIT_SIGPENDING"},
    {0xc, "RLIMIT_MSGQUEUE"}, {0xd, "RLIMIT_NICE"}, {0xe, "RLIMIT_RTPRIO"},
    {0xf, "RLIMIT_RTTIME"}, {0, NULL},
};
static const struct guest_flag flags_sighow[] = {
    {0x0, "SIG_BLOCK"}, {0x1, "SIG_UNBLOCK"}, {0x2, "SIG_SETMASK"}, {0, NULL},
};
static const struct guest_flag flags_wait[] = {
    {0x1, "WNOHANG"}, {0x2, "WUNTRACED"}, {0x8, "WCONTINUED"}, {0x4, "WEXITED"},
    {0x1000000, "WNOWAIT"}, {0x20000000, "__WNOTHREAD"}, {0x40000000, "__WALL"},
    {0x80000000, "__WCLONE"}, {0, NULL},
};
static const struct guest_flag flags_idtype[] = {
    {0x0, "P_ALL"}, {0x1, "P_PID"}, {0x2, "P_PGID"}, {0x3, "P_PIDFD"}, {0, NULL},
};
static const struct guest_flag flags_family[] = {
    {0x0, "AF_UNSPEC"}, {0x1, "AF_UNIX"}, {0x2, "AF_INET"}, {0x3, "AF_AX25"},
    {0x4, "AF_IPX"}, {0x5, "AF_APPLETALK"}, {0x7, "AF_BRIDGE"}, {0x9, "AF_X25"},
    {0xa, "AF_INET6"}, {0x10, "AF_NETLINK"}, {0x11, "AF_PACKET"},
    {0x1f, "AF_BLUETOOTH"}, {0x26, "AF_ALG"}, {0x28, "AF_VSOCK"}, {0, NULL},
};
static const struct guest_flag flags_msg[] = {
    {0x1, "MSG_OOB"}, {0x2, "MSG_PEEK"}, {0x4, "MSG_DONTROUTE"}, {0x8, "MSG_CTRUNC"},
    {0x20, "MSG_TRUNC"}, {0x40, "MSG_DONTWAIT"}, {0x80, "MSG_EOR"},
    {0x100, "MSG_WAITALL"}, {0x4000, "MSG_NOSIGNAL"}, {0x8000, "MSG_MORE"},
    {0x10000, "MSG_WAITFORONE"}, {0x40000000, "MSG_CMSG_CLOEXEC"}, {0, NULL},
};
static const struct guest_flag flags_shut[] = {
    {0x0, "SHUT_RD"}, {0x1, "SHUT_WR"}, {0x2, "SHUT_RDWR"}, {0, NULL},
};
static const struct guest_flag flags_epoll_op[] = {
    {0x1, "EPOLL_CTL_ADD"}, {0x2, "EPOLL_CTL_DEL"}, {0x3, "EPOLL_CTL_MOD"}, {0, NULL},
};
static const struct guest_flag flags_poll[] = {
    {0x1, "POLLIN"}, {0x2, "POLLPRI"}, {0x4, "POLLOUT"}, {0x8, "POLLERR"},
    {0x10, "POLLHUP"}, {0x20, "POLLNVAL"}, {0x40, "POLLRDNORM"}, {0x80, "POLLRDBAND"},
    {0, NULL},
};
static const struct guest_flag flags_epoll[] = {
    {0x1, "EPOLLIN"}, {0x2, "EPOLLPRI"}, {0x4, "EPOLLOUT"}, {0x8, "EPOLLERR"},
    {0x10, "EPOLLHUP"}, {0x40, "EPOLLRDNORM"}, {0x80, "EPOLLRDBAND"},
    {0x100, "EPOLLWRNORM"}, {0x200, "EPOLLWRBAND"}, {0x400, "EPOLLMSG"},
    {0x2000, "EPOLLRDHUP"}, {0x10000000, "EPOLLEXCLUSIVE"},
    {0x20000000, "EPOLLWAKEUP"}, {0x40000000, "EPOLLONESHOT"}, {0x80000000, "EPOLLET"},
    {0, NULL},
};
static const struct guest_flag flags_tfd_timer[] = {
    {0x1, "TFD_TIMER_ABSTIME"}, {0x2, "TFD_TIMER_CANCEL_ON_SET"}, {0, NULL},
};
static const struct guest_flag flags_resolve[] = {
    {0x1, "RESOLVE_NO_XDEV"}, {0x2, "RESOLVE_NO_MAGICLINKS"},
    {0x4, "RESOLVE_NO_SYMLINKS"}, {0x8, "RESOLVE_BENEATH"}, {0x10, "RESOLVE_IN_ROOT"},
    {0x20, "RESOLVE_CACHED"}, {0, NULL},
};
static const struct guest_flag flags_grnd[] = {
    {0x1, "GRND_NONBLOCK"}, {0x2, "GRND_RANDOM"}, {0x4, "GRND_INSECURE"}, {0, NULL},
};
static const struct guest_flag flags_memfd[] = {
    {0x1, "MFD_CLOEXEC"}, {0x2, "MFD_ALLOW_SEALING"}, {0x4, "MFD_HUGETLB"}, {0, NULL},
};
static const struct guest_flag flags_mlockall[] = {
    {0x1, "MCL_CURRENT"}, {0x2, "MCL_FUTURE"}, {0x4, "MCL_ONFAULT"}, {0, NULL},
};
static const struct guest_flag flags_umount[] = {
    {0x1, "MNT_FORCE"}, {0x2, "MNT_DETACH"}, {0x4, "MNT_EXPIRE"},
    {0x8, "UMOUNT_NOFOLLOW"}, {0, NULL},
};
static const struct guest_flag flags_rename[] = {
    {0x1, "RENAME_NOREPLACE"}, {0x2, "RENAME_EXCHANGE"}, {0x4, "RENAME_WHITEOUT"},
    {0, NULL},
};
static const struct guest_flag flags_flock[] = {
    {0x1, "LOCK_SH"}, {0x2, "LOCK_EX"}, {0x4, "LOCK_NB"}, {0x8, "LOCK_UN"}, {0, NULL},
};
static const struct guest_flag flags_falloc[] = {
    {0x1, "FALLOC_FL_KEEP_SIZE"}, {0x2, "FALLOC_FL_PUNCH_HOLE"},
    {0x8, "FALLOC_FL_COLLAPSE_RANGE"}, {0x10, "FALLOC_FL_ZERO_RANGE"},
    {0x20, "FALLOC_FL_INSERT_RANGE"}, {0x40, "FALLOC_FL_UNSHARE_RANGE"}, {0, NULL},
};
static const struct guest_flag flags_prctl[] = {
    {0x1, "PR_SET_PDEATHSIG"}, {0x2, "PR_GET_PDEATHSIG"}, {0x3, "PR_GET_DUMPABLE"},
    {0x4, "PR_SET_DUMPABLE"}, {0x5, "PR_GET_UNALIGN"}, {0x6, "PR_SET_UNALIGN"},
    {0x7, "PR_GET_KEEPCAPS"}, {0x8, "PR_SET_KEEPCAPS"}, {0xf, "PR_SET_NAME"},
    {0x10, "PR_GET_NAME"}, {0x15, "PR_GET_SECCOMP"}, {0x16, "PR_SET_SECCOMP"},
    {0x17, "PR_CAPBSET_READ"}, {0x18, "PR_CAPBSET_DROP"}, {0x19, "PR_GET_TSC"},
    {0x1a, "PR_SET_TSC"}, {0x1d, "PR_SET_TIMERSLACK"}, {0x1e, "PR_GET_TIMERSLACK"},
    {0x23, "PR_SET_MM"}, {0x24, "PR_SET_CHILD_SUBREAPER"},
    {0x25, "PR_GET_CHILD_SUBREAPER"}, {0x26, "PR_SET_NO_NEW_PRIVS"},
    {0x27, "PR_GET_NO_NEW_PRIVS"}, {0x29, "PR_SET_THP_DISABLE"},
    {0x2a, "PR_GET_THP_DISABLE"}, {0x2d, "PR_SET_FP_MODE"}, {0x2e, "PR_GET_FP_MODE"},
    {0x2f, "PR_CAP_AMBIENT"}, {0x32, "PR_SVE_SET_VL"}, {0x33, "PR_SVE_GET_VL"},
    {0x37, "PR_SET_TAGGED_ADDR_CTRL"}, {0x38, "PR_GET_TAGGED_ADDR_CTRL"},
    {0x36, "PR_PAC_RESET_KEYS"}, {0x53564d41, "PR_SET_VMA"},
    {0x59616d61, "PR_SET_PTRACER"}, {0, NULL},
};
static const struct guest_flag flags_arch_prctl[] = {
    {0x1001, "ARCH_SET_GS"}, {0x1002, "ARCH_SET_FS"}, {0x1003, "ARCH_GET_FS"},
    {0x1004, "ARCH_GET_GS"}, {0x3001, "ARCH_CET_STATUS"}, {0, NULL},
};
static const struct guest_flag flags_ioctl[] = {
    {0x5401, "TCGETS"}, {0x5402, "TCSETS"}, {0x5403, "TCSETSW"}, {0x5404, "TCSETSF"},
    {0x540f, "TIOCGPGRP"}, {0x5410, "TIOCSPGRP"}, {0x5413, "TIOCGWINSZ"},
    {0x5414, "TIOCSWINSZ"}, {0x541b, "FIONREAD"}, {0x5421, "FIONBIO"},
    {0x5450, "FIONCLEX"}, {0x5451, "FIOCLEX"}, {0x5452, "FIOASYNC"},
    {0x540e, "TIOCSCTTY"}, {0x5422, "TIOCNOTTY"}, {0x5429, "TIOCGSID"}, {0, NULL},
};
static const struct guest_flag flags_statx[] = {
    {0xfff, "STATX_ALL"}, {0x7ff, "STATX_BASIC_STATS"},
    {0x1, "STATX_TYPE"}, {0x2, "STATX_MODE"}, {0x4, "STATX_NLINK"}, {0x8, "STATX_UID"},
    {0x10, "STATX_GID"}, {0x20, "STATX_ATIME"}, {0x40, "STATX_MTIME"},
    {0x80, "STATX_CTIME"}, {0x100, "STATX_INO"}, {0x200, "STATX_SIZE"},
    {0x400, "STATX_BLOCKS"}, {0x800, "STATX_BTIME"}, {0x1000, "STATX_MNT_ID"},
    {0, NULL},
};
static const struct guest_flag flags_fadvise[] = {
    {0x0, "POSIX_FADV_NORMAL"}, {0x1, "POSIX_FADV_RANDOM"},
    {0x2, "POSIX_FADV_SEQUENTIAL"}, {0x3, "POSIX_FADV_WILLNEED"},
    {0x4, "POSIX_FADV_DONTNEED"}, {0x5, "POSIX_FADV_NOREUSE"}, {0, NULL},
};
static const struct guest_flag flags_prio[] = {
    {0x0, "PRIO_PROCESS"}, {0x1, "PRIO_PGRP"}, {0x2, "PRIO_USER"}, {0, NULL},
};
static const struct guest_flag flags_rusage[] = {
    {0x0, "RUSAGE_SELF"}, {0xffffffff, "RUSAGE_CHILDREN"}, {0x1, "RUSAGE_THREAD"},
    {0, NULL},
};
static const struct guest_flag flags_itimer[] = {
    {0x0, "ITIMER_REAL"}, {0x1, "ITIMER_VIRTUAL"}, {0x2, "ITIMER_PROF"}, {0, NULL},
};
static const struct guest_flag flags_sched[] = {
    {0x0, "SCHED_OTHER"}, {0x1, "SCHED_FIFO"}, {0x2, "SCHED_RR"}, {0x3, "SCHED_BATCH"},
    {0x5, "SCHED_IDLE"}, {0x6, "SCHED_DEADLINE"}, {0, NULL},
};
static const struct guest_flag flags_splice[] = {
    {0x1, "SPLICE_F_MOVE"}, {0x2, "SPLICE_F_NONBLOCK"}, {0x4, "SPLICE_F_MORE"},
    {0x8, "SPLICE_F_GIFT"}, {0, NULL},
};
static const struct guest_flag flags_seccomp[] = {
    {0x0, "SECCOMP_SET_MODE_STRICT"}, {0x1, "SECCOMP_SET_MODE_FILTER"},
    {0x2, "SECCOMP_GET_ACTION_AVAIL"}, {0x3, "SECCOMP_GET_NOTIF_SIZES"}, {0, NULL},
};
static const struct guest_flag flags_membarrier[] = {
    {0x0, "MEMBARRIER_CMD_QUERY"}, {0x1, "MEMBARRIER_CMD_GLOBAL"},
    {0x2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED"},
    {0x4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"},
    {0x8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED"},
    {0x10, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED"},
    {0x20, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE"},
    {0x40, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE"}, {0, NULL},
};
static const struct guest_flag flags_rseq[] = {
    {0x1, "RSEQ_FLAG_UNREGISTER"}, {0, NULL},
};
static const struct guest_flag flags_socktype[] = {
    {0x1, "SOCK_STREAM"}, {0x2, "SOCK_DGRAM"}, {0x3, "SOCK_RAW"}, {0x4, "SOCK_RDM"},
    {0x5, "SOCK_SEQPACKET"}, {0x6, "SOCK_DCCP"}, {0xa, "SOCK_PACKET"}, {0, NULL},
};
static const struct guest_flag flags_ss[] = {
    {0x1, "SS_ONSTACK"}, {0x2, "SS_DISABLE"}, {0x80000000, "SS_AUTODISARM"}, {0, NULL},
};
static const struct guest_flag flags_sa[] = {
    {0x1, "SA_NOCLDSTOP"}, {0x2, "SA_NOCLDWAIT"}, {0x4, "SA_SIGINFO"},
    {0x4000000, "SA_RESTORER"}, {0x8000000, "SA_ONSTACK"}, {0x10000000, "SA_RESTART"},
    {0x40000000, "SA_NODEFER"}, {0x80000000, "SA_RESETHAND"}, {0, NULL},
};
static const struct guest_flag flags_close_range[] = {
    {0x2, "CLOSE_RANGE_UNSHARE"}, {0x4, "CLOSE_RANGE_CLOEXEC"}, {0, NULL},
};
static const struct guest_flag flags_landlock[] = {
    {0x1, "LANDLOCK_CREATE_RULESET_VERSION"}, {0, NULL},
};
static const struct guest_flag flags_shm[] = {
    {0x1000, "SHM_RDONLY"}, {0x2000, "SHM_RND"}, {0x4000, "SHM_REMAP"}, {0, NULL},
};

enum kind {
    FLAGS, /* any of the bits */
    ONE,   /* one of the values */
};

static const struct {
    const struct guest_flag *table;
    enum kind kind;
    const char *zero; /* name of 0, NULL: "0" */
} sets[] = {
    [FLAG_ACCESS] = {flags_access, FLAGS, "F_OK"},
    [FLAG_AT] = {flags_at, FLAGS, NULL},
    [FLAG_EACCESS] = {flags_eaccess, FLAGS, NULL},
    [FLAG_PROT] = {flags_prot, FLAGS, "PROT_NONE"},
    [FLAG_CLONE] = {flags_clone, FLAGS, NULL},
    [FLAG_WHENCE] = {flags_whence, ONE, NULL},
    [FLAG_MREMAP] = {flags_mremap, FLAGS, NULL},
    [FLAG_MSYNC] = {flags_msync, FLAGS, NULL},
    [FLAG_MADVISE] = {flags_madvise, ONE, NULL},
    [FLAG_FUTEX] = {flags_futex, ONE, NULL},
    [FLAG_FUTEX_FLAGS] = {flags_futex_flags, FLAGS, NULL},
    [FLAG_CLOCKID] = {flags_clockid, ONE, NULL},
    [FLAG_TIMER] = {flags_timer, FLAGS, NULL},
    [FLAG_FCNTL] = {flags_fcntl, ONE, NULL},
    [FLAG_FD] = {flags_fd, FLAGS, NULL},
    [FLAG_RLIMIT] = {flags_rlimit, ONE, NULL},
    [FLAG_SIGHOW] = {flags_sighow, ONE, NULL},
    [FLAG_WAIT] = {flags_wait, FLAGS, NULL},
    [FLAG_IDTYPE] = {flags_idtype, ONE, NULL},
    [FLAG_FAMILY] = {flags_family, ONE, NULL},
    [FLAG_MSG] = {flags_msg, FLAGS, NULL},
    [FLAG_SHUT] = {flags_shut, ONE, NULL},
    [FLAG_EPOLL_OP] = {flags_epoll_op, ONE, NULL},
    [FLAG_POLL] = {flags_poll, FLAGS, NULL},
    [FLAG_EPOLL] = {flags_epoll, FLAGS, NULL},
    [FLAG_TFD_TIMER] = {flags_tfd_timer, FLAGS, NULL},
    [FLAG_RESOLVE] = {flags_resolve, FLAGS, NULL},
    [FLAG_GRND] = {flags_grnd, FLAGS, NULL},
    [FLAG_MEMFD] = {flags_memfd, FLAGS, NULL},
    [FLAG_MLOCKALL] = {flags_mlockall, FLAGS, NULL},
    [FLAG_UMOUNT] = {flags_umount, FLAGS, NULL},
    [FLAG_RENAME] = {flags_rename, FLAGS, NULL},
    [FLAG_FLOCK] = {flags_flock, FLAGS, NULL},
    [FLAG_FALLOC] = {flags_falloc, FLAGS, NULL},
    [FLAG_PRCTL] = {flags_prctl, ONE, NULL},
    [FLAG_ARCH_PRCTL] = {flags_arch_prctl, ONE, NULL},
    [FLAG_IOCTL] = {flags_ioctl, ONE, NULL},
    [FLAG_STATX] = {flags_statx, FLAGS, NULL},
    [FLAG_FADVISE] = {flags_fadvise, ONE, NULL},
    [FLAG_PRIO] = {flags_prio, ONE, NULL},
    [FLAG_RUSAGE] = {flags_rusage, ONE, NULL},
    [FLAG_ITIMER] = {flags_itimer, ONE, NULL},
    [FLAG_SCHED] = {flags_sched, ONE, NULL},
    [FLAG_SPLICE] = {flags_splice, FLAGS, NULL},
    [FLAG_SECCOMP] = {flags_seccomp, ONE, NULL},
    [FLAG_MEMBARRIER] = {flags_membarrier, ONE, NULL},
    [FLAG_RSEQ] = {flags_rseq, FLAGS, NULL},
    [FLAG_SOCKTYPE] = {flags_socktype, ONE, NULL},
    [FLAG_SS] = {flags_ss, FLAGS, NULL},
    [FLAG_SA] = {flags_sa, FLAGS, NULL},
    [FLAG_CLOSE_RANGE] = {flags_close_range, FLAGS, NULL},
    [FLAG_LANDLOCK] = {flags_landlock, FLAGS, NULL},
    [FLAG_SHM] = {flags_shm, FLAGS, NULL},
};
/* clang-format on */

bool syscall_put_bits(struct textbuf *b, const struct guest_flag *t, uint64_t v,
                      const char *first)
{
    const char *between = first ? "|" : "";
    bool ok = !first || textbuf_printf(b, "%s", first);

    for (; ok && v && t->name; t++) {
        if (t->value && (v & t->value) == t->value) {
            ok = textbuf_printf(b, "%s%s", between, t->name);
            between = "|";
            v &= ~(uint64_t)t->value;
        }
    }
    if (ok && (v || !*between)) {
        ok = textbuf_printf(b, v ? "%s0x%" PRIx64 : "%s%" PRIx64, between, v);
    }
    return ok;
}

const char *syscall_value_name(const struct guest_flag *t, uint64_t v)
{
    for (; t && t->name; t++) {
        if (t->value == v) {
            return t->name;
        }
    }
    return NULL;
}

const char *syscall_flag_name(enum syscall_flag_set set, uint64_t v)
{
    return syscall_value_name(sets[set].table, v);
}

bool syscall_put_flags(struct textbuf *b, enum syscall_flag_set set, uint64_t v)
{
    const char *name;

    if (!v && sets[set].zero) {
        return textbuf_printf(b, "%s", sets[set].zero);
    }
    if (sets[set].kind == FLAGS) {
        return syscall_put_bits(b, sets[set].table, v, NULL);
    }
    name = syscall_value_name(sets[set].table, v);
    return name ? textbuf_printf(b, "%s", name) : textbuf_printf(b, "0x%" PRIx64, v);
}
