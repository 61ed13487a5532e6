/* SPDX-License-Identifier: MIT */
/* Levels, names and values of socket options. */
#include "syscall/syscall_priv.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "syscall/syscall_flags.h"

/* clang-format off */
static const struct guest_flag levels[] = {
    {0, "SOL_IP"}, {6, "SOL_TCP"}, {17, "SOL_UDP"}, {41, "SOL_IPV6"}, {58, "SOL_ICMPV6"},
    {255, "SOL_RAW"}, {263, "SOL_PACKET"}, {270, "SOL_NETLINK"}, {279, "SOL_ALG"},
    {282, "SOL_TLS"}, {0, NULL},
};
/* By enum guest_numbers. */
static const struct {
    const char *name;
    uint16_t number[GUEST_NR_NUMBERS];
} socket_options[] = {
    {"SO_DEBUG", {0x1, 0x1, 0x1, 0x1, 0x1}},
    {"SO_REUSEADDR", {0x2, 0x4, 0x4, 0x4, 0x4}},
    {"SO_TYPE", {0x3, 0x1008, 0x1008, 0x1008, 0x1008}},
    {"SO_ERROR", {0x4, 0x1007, 0x1007, 0x1007, 0x1007}},
    {"SO_DONTROUTE", {0x5, 0x10, 0x10, 0x10, 0x10}},
    {"SO_BROADCAST", {0x6, 0x20, 0x20, 0x20, 0x20}},
    {"SO_SNDBUF", {0x7, 0x1001, 0x1001, 0x1001, 0x1001}},
    {"SO_RCVBUF", {0x8, 0x1002, 0x1002, 0x1002, 0x1002}},
    {"SO_KEEPALIVE", {0x9, 0x8, 0x8, 0x8, 0x8}},
    {"SO_OOBINLINE", {0xa, 0x100, 0x100, 0x100, 0x100}},
    {"SO_NO_CHECK", {0xb, 0xb, 0xb, 0xb, 0x400b}},
    {"SO_PRIORITY", {0xc, 0xc, 0xc, 0xc, 0x400c}},
    {"SO_LINGER", {0xd, 0x80, 0x80, 0x80, 0x80}},
    {"SO_BSDCOMPAT", {0xe, 0xe, 0x400, 0xe, 0x400e}},
    {"SO_REUSEPORT", {0xf, 0x200, 0x200, 0x200, 0x200}},
    {"SO_PASSCRED", {0x10, 0x11, 0x2, 0x11, 0x4010}},
    {"SO_PEERCRED", {0x11, 0x12, 0x40, 0x12, 0x4011}},
    {"SO_RCVLOWAT", {0x12, 0x1004, 0x800, 0x1010, 0x1004}},
    {"SO_SNDLOWAT", {0x13, 0x1003, 0x1000, 0x1011, 0x1003}},
    {"SO_RCVTIMEO_OLD", {0x14, 0x1006, 0x2000, 0x1012, 0x1006}},
    {"SO_SNDTIMEO_OLD", {0x15, 0x1005, 0x4000, 0x1013, 0x1005}},
    {"SO_BINDTODEVICE", {0x19, 0x19, 0xd, 0x19, 0x4019}},
    {"SO_ATTACH_FILTER", {0x1a, 0x1a, 0x1a, 0x1a, 0x401a}},
    {"SO_DETACH_FILTER", {0x1b, 0x1b, 0x1b, 0x1b, 0x401b}},
    {"SO_PEERNAME", {0x1c, 0x1c, 0x1c, 0x1c, 0x2000}},
    {"SO_TIMESTAMP_OLD", {0x1d, 0x1d, 0x1d, 0x1d, 0x4012}},
    {"SO_ACCEPTCONN", {0x1e, 0x1009, 0x8000, 0x1014, 0x401c}},
    {"SO_PEERSEC", {0x1f, 0x1e, 0x1e, 0x1e, 0x401d}},
    {"SO_SNDBUFFORCE", {0x20, 0x1f, 0x100a, 0x100a, 0x100a}},
    {"SO_RCVBUFFORCE", {0x21, 0x21, 0x100b, 0x100b, 0x100b}},
    {"SO_PASSSEC", {0x22, 0x22, 0x1f, 0x22, 0x401e}},
    {"SO_TIMESTAMPNS_OLD", {0x23, 0x23, 0x21, 0x23, 0x4013}},
    {"SO_MARK", {0x24, 0x24, 0x22, 0x24, 0x401f}},
    {"SO_TIMESTAMPING_OLD", {0x25, 0x25, 0x23, 0x25, 0x4020}},
    {"SO_PROTOCOL", {0x26, 0x1028, 0x1028, 0x1028, 0x1028}},
    {"SO_DOMAIN", {0x27, 0x1029, 0x1029, 0x1029, 0x1029}},
    {"SO_RXQ_OVFL", {0x28, 0x28, 0x24, 0x28, 0x4021}},
    {"SO_WIFI_STATUS", {0x29, 0x29, 0x25, 0x29, 0x4022}},
    {"SO_PEEK_OFF", {0x2a, 0x2a, 0x26, 0x2a, 0x4023}},
    {"SO_NOFCS", {0x2b, 0x2b, 0x27, 0x2b, 0x4024}},
    {"SO_LOCK_FILTER", {0x2c, 0x2c, 0x28, 0x2c, 0x4025}},
    {"SO_SELECT_ERR_QUEUE", {0x2d, 0x2d, 0x29, 0x2d, 0x4026}},
    {"SO_BUSY_POLL", {0x2e, 0x2e, 0x30, 0x2e, 0x4027}},
    {"SO_MAX_PACING_RATE", {0x2f, 0x2f, 0x31, 0x2f, 0x4028}},
    {"SO_BPF_EXTENSIONS", {0x30, 0x30, 0x32, 0x30, 0x4029}},
    {"SO_INCOMING_CPU", {0x31, 0x31, 0x33, 0x31, 0x402a}},
    {"SO_ATTACH_BPF", {0x32, 0x32, 0x34, 0x32, 0x402b}},
    {"SO_ATTACH_REUSEPORT_CBPF", {0x33, 0x33, 0x35, 0x33, 0x402c}},
    {"SO_ATTACH_REUSEPORT_EBPF", {0x34, 0x34, 0x36, 0x34, 0x402d}},
    {"SO_CNX_ADVICE", {0x35, 0x35, 0x37, 0x35, 0x402e}},
    {"SO_MEMINFO", {0x37, 0x37, 0x39, 0x37, 0x4030}},
    {"SO_INCOMING_NAPI_ID", {0x38, 0x38, 0x3a, 0x38, 0x4031}},
    {"SO_COOKIE", {0x39, 0x39, 0x3b, 0x39, 0x4032}},
    {"SO_PEERGROUPS", {0x3b, 0x3b, 0x3d, 0x3b, 0x4034}},
    {"SO_ZEROCOPY", {0x3c, 0x3c, 0x3e, 0x3c, 0x4035}},
    {"SO_TXTIME", {0x3d, 0x3d, 0x3f, 0x3d, 0x4036}},
    {"SO_BINDTOIFINDEX", {0x3e, 0x3e, 0x41, 0x3e, 0x4037}},
    {"SO_TIMESTAMP_NEW", {0x3f, 0x3f, 0x46, 0x3f, 0x4038}},
    {"SO_TIMESTAMPNS_NEW", {0x40, 0x40, 0x42, 0x40, 0x4039}},
    {"SO_TIMESTAMPING_NEW", {0x41, 0x41, 0x43, 0x41, 0x403a}},
    {"SO_RCVTIMEO_NEW", {0x42, 0x42, 0x44, 0x42, 0x4040}},
    {"SO_SNDTIMEO_NEW", {0x43, 0x43, 0x45, 0x43, 0x4041}},
    {"SO_DETACH_REUSEPORT_BPF", {0x44, 0x44, 0x47, 0x44, 0x4042}},
    {"SO_PREFER_BUSY_POLL", {0x45, 0x45, 0x48, 0x45, 0x4043}},
    {"SO_BUSY_POLL_BUDGET", {0x46, 0x46, 0x49, 0x46, 0x4044}},
    {"SO_NETNS_COOKIE", {0x47, 0x47, 0x50, 0x47, 0x4045}},
    {"SO_BUF_LOCK", {0x48, 0x48, 0x51, 0x48, 0x4046}},
    {"SO_RESERVE_MEM", {0x49, 0x49, 0x52, 0x49, 0x4047}},
    {"SO_TXREHASH", {0x4a, 0x4a, 0x53, 0x4a, 0x4048}},
    {"SO_RCVMARK", {0x4b, 0x4b, 0x54, 0x4b, 0x4049}},
};
static const struct guest_flag socket_ppc[] = {
    {16, "SO_RCVLOWAT"}, {17, "SO_SNDLOWAT"}, {18, "SO_RCVTIMEO_OLD"},
    {19, "SO_SNDTIMEO_OLD"}, {20, "SO_PASSCRED"}, {21, "SO_PEERCRED"}, {0, NULL},
};
static const struct guest_flag tcp_options[] = {
    {1, "TCP_NODELAY"}, {2, "TCP_MAXSEG"}, {3, "TCP_CORK"}, {4, "TCP_KEEPIDLE"},
    {5, "TCP_KEEPINTVL"}, {6, "TCP_KEEPCNT"}, {7, "TCP_SYNCNT"}, {8, "TCP_LINGER2"},
    {9, "TCP_DEFER_ACCEPT"}, {10, "TCP_WINDOW_CLAMP"}, {11, "TCP_INFO"},
    {12, "TCP_QUICKACK"}, {13, "TCP_CONGESTION"}, {14, "TCP_MD5SIG"},
    {15, "TCP_COOKIE_TRANSACTIONS"}, {16, "TCP_THIN_LINEAR_TIMEOUTS"},
    {17, "TCP_THIN_DUPACK"}, {18, "TCP_USER_TIMEOUT"}, {19, "TCP_REPAIR"},
    {20, "TCP_REPAIR_QUEUE"}, {21, "TCP_QUEUE_SEQ"}, {22, "TCP_REPAIR_OPTIONS"},
    {23, "TCP_FASTOPEN"}, {24, "TCP_TIMESTAMP"}, {25, "TCP_NOTSENT_LOWAT"},
    {26, "TCP_CC_INFO"}, {27, "TCP_SAVE_SYN"}, {28, "TCP_SAVED_SYN"},
    {29, "TCP_REPAIR_WINDOW"}, {30, "TCP_FASTOPEN_CONNECT"}, {31, "TCP_ULP"},
    {32, "TCP_MD5SIG_EXT"}, {33, "TCP_FASTOPEN_KEY"}, {34, "TCP_FASTOPEN_NO_COOKIE"},
    {35, "TCP_ZEROCOPY_RECEIVE"}, {36, "TCP_INQ"}, {37, "TCP_TX_DELAY"}, {0, NULL},
};
static const struct guest_flag udp_options[] = {
    {1, "UDP_CORK"}, {100, "UDP_ENCAP"}, {101, "UDP_NO_CHECK6_TX"},
    {102, "UDP_NO_CHECK6_RX"}, {103, "UDP_SEGMENT"}, {104, "UDP_GRO"}, {0, NULL},
};
static const struct guest_flag ip_options[] = {
    {1, "IP_TOS"}, {2, "IP_TTL"}, {3, "IP_HDRINCL"}, {4, "IP_OPTIONS"},
    {5, "IP_ROUTER_ALERT"}, {6, "IP_RECVOPTS"}, {7, "IP_RETOPTS"}, {8, "IP_PKTINFO"},
    {9, "IP_PKTOPTIONS"}, {10, "IP_MTU_DISCOVER"}, {11, "IP_RECVERR"},
    {12, "IP_RECVTTL"}, {13, "IP_RECVTOS"}, {14, "IP_MTU"}, {15, "IP_FREEBIND"},
    {16, "IP_IPSEC_POLICY"}, {17, "IP_XFRM_POLICY"}, {18, "IP_PASSSEC"},
    {19, "IP_TRANSPARENT"}, {20, "IP_ORIGDSTADDR"}, {21, "IP_MINTTL"},
    {22, "IP_NODEFRAG"}, {23, "IP_CHECKSUM"}, {24, "IP_BIND_ADDRESS_NO_PORT"},
    {26, "IP_RECVERR_RFC4884"}, {32, "IP_MULTICAST_IF"}, {33, "IP_MULTICAST_TTL"},
    {34, "IP_MULTICAST_LOOP"}, {35, "IP_ADD_MEMBERSHIP"}, {36, "IP_DROP_MEMBERSHIP"},
    {37, "IP_UNBLOCK_SOURCE"}, {38, "IP_BLOCK_SOURCE"}, {39, "IP_ADD_SOURCE_MEMBERSHIP"},
    {40, "IP_DROP_SOURCE_MEMBERSHIP"}, {41, "IP_MSFILTER"}, {49, "IP_MULTICAST_ALL"},
    {50, "IP_UNICAST_IF"}, {0, NULL},
};
static const struct guest_flag ipv6_options[] = {
    {1, "IPV6_ADDRFORM"}, {2, "IPV6_2292PKTINFO"}, {3, "IPV6_2292HOPOPTS"},
    {4, "IPV6_2292DSTOPTS"}, {5, "IPV6_2292RTHDR"}, {6, "IPV6_2292PKTOPTIONS"},
    {7, "IPV6_CHECKSUM"}, {8, "IPV6_2292HOPLIMIT"}, {9, "IPV6_NEXTHOP"},
    {10, "IPV6_AUTHHDR"}, {16, "IPV6_UNICAST_HOPS"}, {17, "IPV6_MULTICAST_IF"},
    {18, "IPV6_MULTICAST_HOPS"}, {19, "IPV6_MULTICAST_LOOP"}, {20, "IPV6_JOIN_GROUP"},
    {21, "IPV6_LEAVE_GROUP"}, {22, "IPV6_ROUTER_ALERT"}, {23, "IPV6_MTU_DISCOVER"},
    {24, "IPV6_MTU"}, {25, "IPV6_RECVERR"}, {26, "IPV6_V6ONLY"},
    {27, "IPV6_JOIN_ANYCAST"}, {28, "IPV6_LEAVE_ANYCAST"}, {29, "IPV6_MULTICAST_ALL"},
    {30, "IPV6_ROUTER_ALERT_ISOLATE"}, {31, "IPV6_RECVERR_RFC4884"},
    {34, "IPV6_IPSEC_POLICY"}, {35, "IPV6_XFRM_POLICY"}, {36, "IPV6_HDRINCL"},
    {49, "IPV6_RECVPKTINFO"}, {50, "IPV6_PKTINFO"}, {51, "IPV6_RECVHOPLIMIT"},
    {52, "IPV6_HOPLIMIT"}, {53, "IPV6_RECVHOPOPTS"}, {54, "IPV6_HOPOPTS"},
    {55, "IPV6_RTHDRDSTOPTS"}, {56, "IPV6_RECVRTHDR"}, {57, "IPV6_RTHDR"},
    {58, "IPV6_RECVDSTOPTS"}, {59, "IPV6_DSTOPTS"}, {60, "IPV6_RECVPATHMTU"},
    {61, "IPV6_PATHMTU"}, {62, "IPV6_DONTFRAG"}, {66, "IPV6_RECVTCLASS"},
    {67, "IPV6_TCLASS"}, {70, "IPV6_AUTOFLOWLABEL"}, {72, "IPV6_ADDR_PREFERENCES"},
    {73, "IPV6_MINHOPCOUNT"}, {74, "IPV6_ORIGDSTADDR"}, {75, "IPV6_TRANSPARENT"},
    {76, "IPV6_UNICAST_IF"}, {78, "IPV6_FREEBIND"}, {0, NULL},
};
/* clang-format on */

static bool is_socket_level(const struct guest *g, uint32_t level)
{
    return level == (g->abi->numbers == GUEST_GENERIC ? 1u : 0xffffu);
}

bool syscall_put_sock_level(struct textbuf *b, const struct guest *g, uint32_t level)
{
    const char *name =
        is_socket_level(g, level) ? "SOL_SOCKET" : syscall_value_name(levels, level);

    return name ? textbuf_printf(b, "%s", name) : textbuf_printf(b, "%u", level);
}

static const char *option_name(const struct guest *g, uint32_t level, uint32_t option)
{
    const struct guest_flag *t = level == 0    ? ip_options
                                 : level == 6  ? tcp_options
                                 : level == 17 ? udp_options
                                 : level == 41 ? ipv6_options
                                               : NULL;
    bool ppc = g->abi->e_machine == EM_PPC || g->abi->e_machine == EM_PPC64;

    if (!is_socket_level(g, level)) {
        return syscall_value_name(t, option);
    }
    if (ppc && option >= 16 && option <= 21) {
        return syscall_value_name(socket_ppc, option);
    }
    for (size_t i = 0; i < sizeof(socket_options) / sizeof(*socket_options); i++) {
        if (option && socket_options[i].number[g->abi->numbers] == option) {
            return socket_options[i].name;
        }
    }
    return NULL;
}

bool syscall_put_sock_option(struct textbuf *b, const struct guest *g, uint32_t level,
                             uint32_t option)
{
    const char *name = option_name(g, level, option);

    return name ? textbuf_printf(b, "%s", name) : textbuf_printf(b, "%u", option);
}

bool syscall_put_sock_value(struct textbuf *b, const struct syscall_call *c, bool write,
                            uint64_t addr, uint64_t size)
{
    const struct guest *g = c->guest;
    const char *name = option_name(g, (uint32_t)c->args[1], (uint32_t)c->args[2]);
    uint8_t buf[16];
    unsigned w = g->word;
    bool text;

    name = name ? name : "";
    text = !strcmp(name, "TCP_CONGESTION") || !strcmp(name, "TCP_ULP") ||
           !strcmp(name, "SO_BINDTODEVICE");
    if (!strcmp(name, "SO_LINGER") && size >= 8 &&
        syscall_memory(c, write, addr, buf, 8) == 8) {
        return textbuf_printf(b, "{l_onoff=%d, l_linger=%d}", (int)guest_load(g, buf, 4),
                              (int)guest_load(g, buf + 4, 4));
    }
    if (strstr(name, "TIMEO_OLD") && size >= 2 * w &&
        syscall_memory(c, write, addr, buf, 2 * w) == 2 * w) {
        return syscall_put_time(b, c, buf, w, "tv_usec");
    }
    return size == 4 && !text ? syscall_put_ints(b, c, write, addr, 1)
                              : syscall_put_buffer(b, c, write, addr, size);
}

/* File descriptors that SCM_RIGHTS sends, or the bytes of another message. */
static bool put_control_data(struct textbuf *b, const struct syscall_call *c, bool rights,
                             const uint8_t *p, size_t n)
{
    bool ok;

    if (!rights) {
        return syscall_put_quoted(b, p, n, false);
    }
    ok = textbuf_printf(b, "[");
    for (size_t i = 0; ok && i + 4 <= n; i += 4) {
        ok =
            textbuf_printf(b, "%s%d", i ? ", " : "", (int)guest_load(c->guest, p + i, 4));
    }
    return ok && textbuf_printf(b, "]");
}

bool syscall_put_control(struct textbuf *b, const struct syscall_call *c, bool write,
                         uint64_t addr, uint64_t size)
{
    const struct guest *g = c->guest;
    size_t w = g->word, head = w + 8, at = 0, got;
    uint8_t buf[256];
    bool ok;

    got = syscall_memory(c, write, addr, buf, size < sizeof(buf) ? size : sizeof(buf));
    if (got < head) {
        return syscall_put_address(b, c, addr);
    }
    ok = textbuf_printf(b, "[");
    while (ok && got - at >= head) {
        uint64_t len = guest_load(g, buf + at, (unsigned)w);
        uint32_t level = (uint32_t)guest_load(g, buf + at + w, 4);
        uint32_t type = (uint32_t)guest_load(g, buf + at + w + 4, 4);
        bool rights = is_socket_level(g, level) && type == 1;
        if (len < head || len > got - at) {
            break;
        }
        ok = textbuf_printf(b, "%s{cmsg_len=%" PRIu64 ", cmsg_level=", at ? ", " : "",
                            len) &&
             syscall_put_sock_level(b, g, level) &&
             (rights ? textbuf_printf(b, ", cmsg_type=SCM_RIGHTS")
                     : textbuf_printf(b, ", cmsg_type=%u", type)) &&
             textbuf_printf(b, ", cmsg_data=") &&
             put_control_data(b, c, rights, buf + at + head, (size_t)len - head) &&
             textbuf_printf(b, "}");
        len = (len + w - 1) & ~(uint64_t)(w - 1);
        at = len < got - at ? at + (size_t)len : got;
    }
    if (ok && at < size) {
        ok = textbuf_printf(b, at ? ", ..." : "...");
    }
    return ok && textbuf_printf(b, "]");
}
