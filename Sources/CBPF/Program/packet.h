// SPDX-License-Identifier: Apache-2.0
//
// Packet layout: the headers, in network byte order, and the last octets of a query.
#pragma once
#include "../include/answer.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define INLINE static inline __attribute__((always_inline))

INLINE u16 swap16(u16 number) { return __builtin_bswap16(number); }
INLINE u32 swap32(u32 number) { return __builtin_bswap32(number); }

enum { ETHERNET = 14, UDP_OCTETS = 8, DNS_OCTETS = 12, TAIL_OCTETS = 8 + 4 + ANSWER_OPT_OCTETS };

struct heads {
    union {
        struct {
            u16 source, destination;
        };
        u32 ports;
    };
    u16 count, check;
    u16 id, flags, questions, answers, authorities, additionals;
} __attribute__((aligned(4)));

struct ipv4 {
    u8 version, service;
    u16 count, id, fragment;
    u8 hops, protocol;
    u16 check;
    union {
        struct {
            u32 source, destination;
        };
        u64 addresses;
    };
} __attribute__((packed, aligned(4)));

struct ipv6 {
    u32 version;
    u16 count;
    u8 next, hops;
    union {
        struct {
            u32 source[4], destination[4];
        };
        u64 addresses[4];
    };
} __attribute__((packed, aligned(4)));

/// `v4` ends at the same offset as `v6`.
struct frame {
    union {
        struct ipv6 v6;
        struct {
            u8 none[6], ethernet[ETHERNET];
            struct ipv4 v4;
        };
    };
    struct heads heads;
} __attribute__((aligned(8)));

/// `last` has the last eight octets of the name, or of the DNS header before a short name.
struct tail {
    u64 last;
    u16 type, class;
    u8 opt[ANSWER_OPT_OCTETS + 1];
};

enum { LARGEST_PAYLOAD = 1232, LEAST_LIMIT = 512 };

INLINE u16 folded(u64 sum) {
    sum = (sum & 0xFFFFFFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}
