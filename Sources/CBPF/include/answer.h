// SPDX-License-Identifier: Apache-2.0
//
// What the daemon and its BPF program both know: the layout of their maps.
#pragma once
#include <stdint.h>

/// Bounds of what the program answers; anything larger is a worker's.
enum {
    ANSWER_NAME_OCTETS = 256,
    ANSWER_SECTION_OCTETS = 500,
    ANSWER_TTLS = 16,
    ANSWER_LISTENERS = 16,

    /// An OPT record without options.
    ANSWER_OPT_OCTETS = 11,

    /// Room for a name, sections and an OPT record: with the rest of `answer`, and what the kernel has
    /// before it, whole lines of a processor's cache, so that each answer begins with one.
    ANSWER_OCTETS = 768,

    /// Secrets of the key: one for each whole word of a name, then these two.
    ANSWER_SECRET_OF_LAST = ANSWER_NAME_OCTETS / 8,
    ANSWER_SECRET_OF_TYPE,
    ANSWER_SECRETS,

    /// For clients that said this of DNSSEC, or for all: `AnswerVariant`.
    ANSWER_FOR_ALL = 0xFF,

    /// Bits of `answer_state.families`.
    ANSWER_IPV4 = 1,
    ANSWER_IPV6 = 2
};

/// The maps, in the order in which the program counts them.
enum { ANSWER_MAP_STATE, ANSWER_MAP_ANSWERS, ANSWER_MAP_HITS, ANSWER_MAPS };

/// An address that a worker listens on.
struct answer_listener {
    /// In network order; of IPv4, the first word.
    uint32_t address[4];

    /// In network order.
    uint16_t port;

    /// 4 or 6.
    uint16_t family;
};

/// What holds for all answers: one element that the daemon has mapped and writes to.
struct answer_state {
    /// Whose queries are answered; 0 is nobody's.
    uint32_t families;
    uint32_t listener_count;

    /// Odd while the daemon changes answers; another number afterwards.
    ///
    /// The kernel replaces an element of the map as a whole, but it may use the memory of the old one
    /// for the next at once, while another processor reads.
    uint64_t sequence;

    /// The secrets of the key, set once, before there are answers.
    uint64_t secrets[ANSWER_SECRETS];
    struct answer_listener listeners[ANSWER_LISTENERS];
};

/// One answer: all that follows the question, and for how long.
struct answer {
    /// CLOCK_BOOTTIME in nanoseconds: when its TTLs were right, and when the program gives it no more.
    uint64_t stored_at;
    uint64_t ends_at;

    /// The place of its count in the map of hits.
    uint32_t slot;
    uint16_t type;
    uint8_t variant;
    uint8_t name_count;

    /// RCODE, and AD as it is in a header.
    uint16_t flags;
    uint16_t section_count;

    /// Records of the three sections, of which none has more than there may be TTLs.
    uint8_t counts[3];
    uint8_t ttl_count;

    /// Where TTLs lie in the sections.
    uint16_t ttls[ANSWER_TTLS];

    /// The name in wire form and lower case, as `answer_words` and filled up with 0; the sections; and
    /// the OPT record for who sent one, without DO.
    ///
    /// So all of a usual answer is on two lines of a processor's cache.
    uint8_t octets[ANSWER_OCTETS];
};

/// Eight octets with each `A` to `Z` among them made lower case (RFC 4343).
static inline __attribute__((always_inline)) uint64_t answer_lower(uint64_t octets) {
    const uint64_t seven = octets & 0x7F7F7F7F7F7F7F7FULL;
    const uint64_t at_least_a = seven + 0x3F3F3F3F3F3F3F3FULL;
    const uint64_t above_z = seven + 0x2525252525252525ULL;
    return octets | ((~octets & (at_least_a ^ above_z) & 0x8080808080808080ULL) >> 2);
}

/// Words of a name, of which the last one has a free octet at least.
static inline __attribute__((always_inline)) uint32_t answer_words(uint32_t name_count) {
    return name_count / 8 + 1;
}

/// Adds eight octets to the key of an answer, with the secret of their place.
///
/// NH (RFC 4418 section 5.2) over halves of words, as BPF has no 128-bit products: two questions that
/// a client chooses without knowing the secrets share a key with probability at most 2^-32.  Not
/// `NameHash`; where two questions do share a key, one copy replaces the other, and a worker answers
/// the other question.
static inline __attribute__((always_inline)) uint64_t answer_hash_step(uint64_t state,
                                                                       uint64_t octets,
                                                                       uint64_t secret) {
    const uint64_t low = (uint32_t)((uint32_t)octets + (uint32_t)secret);
    const uint64_t high = (uint32_t)((uint32_t)(octets >> 32) + (uint32_t)(secret >> 32));
    return state + low * high;
}

/// The state that the first step begins with.
static inline __attribute__((always_inline)) uint64_t
answer_hash_start(const struct answer_state *state, uint16_t type, uint8_t count) {
    return answer_hash_step(0, (uint32_t)type << 8 | count, state->secrets[ANSWER_SECRET_OF_TYPE]);
}

/// The key for one variant.
static inline __attribute__((always_inline)) uint64_t answer_hash_end(uint64_t state,
                                                                      uint8_t variant) {
    return state + variant * 0xD6E8FEB86659FD93ULL;
}
