// SPDX-License-Identifier: Apache-2.0
//
// Layout of the maps that the daemon and its BPF program share.
#pragma once
#include <stdint.h>

/// Maximum sizes of an answer in the map; workers send larger answers.
enum {
    ANSWER_NAME_OCTETS = 256,
    ANSWER_SECTION_OCTETS = 500,
    ANSWER_TTLS = 16,
    ANSWER_LISTENERS = 16,

    ANSWER_OPT_OCTETS = 11,

    ANSWER_OCTETS = 768,

    /// Index after the secrets of the full 64-bit words.
    ANSWER_SECRET_OF_LAST = ANSWER_NAME_OCTETS / 8,
    ANSWER_SECRET_OF_TYPE,
    ANSWER_SECRETS,

    /// Other variants are the DO and CD bits of the query.
    ANSWER_FOR_ALL = 0xFF,

    /// Bits of `answer_state.families`.
    ANSWER_IPV4 = 1,
    ANSWER_IPV6 = 2
};

enum { ANSWER_MAP_STATE, ANSWER_MAP_ANSWERS, ANSWER_MAP_HITS, ANSWER_MAPS };

struct answer_listener {
    /// Network byte order; IPv4 uses only the first element.
    uint32_t address[4];

    /// Network byte order.
    uint16_t port;

    /// IP version.
    uint16_t family;
};

struct answer_state {
    /// 0 disables all answers.
    uint32_t families;
    uint32_t listener_count;

    /// Odd while the daemon changes answers, and different after each change: the kernel may reuse
    /// a replaced map element while the program still reads it.
    uint64_t sequence;

    /// Set before any answer is added.
    uint64_t secrets[ANSWER_SECRETS];
    struct answer_listener listeners[ANSWER_LISTENERS];
};

/// Map element of an answer, with the part of the reply that follows the question.
struct answer {
    /// Nanoseconds of CLOCK_BOOTTIME; the TTLs count from `stored_at`.
    uint64_t stored_at;
    uint64_t ends_at;

    uint32_t slot;
    uint16_t type;
    uint8_t variant;
    uint8_t name_count;

    /// RCODE and AD bit.
    uint16_t flags;
    uint16_t section_count;

    uint8_t counts[3];
    uint8_t ttl_count;

    uint16_t ttls[ANSWER_TTLS];

    /// Name in lower-case wire form, padded with 0 to `answer_words` 64-bit words; then the
    /// sections; then an OPT record without DO.
    uint8_t octets[ANSWER_OCTETS];
};

/// Returns eight octets in lower case (RFC 4343).
static inline __attribute__((always_inline)) uint64_t answer_lower(uint64_t octets) {
    const uint64_t seven = octets & 0x7F7F7F7F7F7F7F7FULL;
    const uint64_t at_least_a = seven + 0x3F3F3F3F3F3F3F3FULL;
    const uint64_t above_z = seven + 0x2525252525252525ULL;
    return octets | ((~octets & (at_least_a ^ above_z) & 0x8080808080808080ULL) >> 2);
}

/// Returns the 64-bit words for a name; the last word has at least one unused octet.
static inline __attribute__((always_inline)) uint32_t answer_words(uint32_t name_count) {
    return name_count / 8 + 1;
}

/// Adds octets by NH (RFC 4418 section 5.2) with 32-bit halves: BPF has no 128-bit products.
///
/// An attacker can make two keys equal with a probability of at most 2^-32.
static inline __attribute__((always_inline)) uint64_t answer_hash_step(uint64_t state,
                                                                       uint64_t octets,
                                                                       uint64_t secret) {
    const uint64_t low = (uint32_t)((uint32_t)octets + (uint32_t)secret);
    const uint64_t high = (uint32_t)((uint32_t)(octets >> 32) + (uint32_t)(secret >> 32));
    return state + low * high;
}

static inline __attribute__((always_inline)) uint64_t
answer_hash_start(const struct answer_state *state, uint16_t type, uint8_t count) {
    return answer_hash_step(0, (uint32_t)type << 8 | count, state->secrets[ANSWER_SECRET_OF_TYPE]);
}

static inline __attribute__((always_inline)) uint64_t answer_hash_end(uint64_t state,
                                                                      uint8_t variant) {
    return state + variant * 0xD6E8FEB86659FD93ULL;
}
