// SPDX-License-Identifier: Apache-2.0
//
// Answers a query on its way through the loopback device, inside the asker's own system call.
//
// It knows the one shape that practically all queries have (see `QueryView`), looks the question up
// among the answers that the daemon has left for it, and makes the packet its own reply, which goes on
// to where the query would have gone: up.  Whatever it does not know passes, as it came.
//
// It writes by helpers only: a program that writes to packets directly has every packet of the device
// made writable before, and on loopback most are shared.  `scripts/bpf` makes `answer.inc` of it.
#include "../include/answer.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define INLINE static inline __attribute__((always_inline))

/// What the program says of a packet: the next one's affair, or done with (TC_ACT_UNSPEC, TC_ACT_OK).
enum { PASSED = -1, ANSWERED = 0 };

/// As much of the kernel's context as is read here.
struct __sk_buff {
    u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
    u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family;
    u32 remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
    u64 flow_keys, tstamp;
    u32 wire_len, gso_segs;
    u64 sk;
    u32 gso_size;
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const skb_store)(struct __sk_buff *, u32 offset, const void *, u32 count, u64) = (void *)9;
static long (*const skb_load)(const struct __sk_buff *, u32 offset, void *, u32 count) = (void *)26;
static long (*const skb_resize)(struct __sk_buff *, u32 count, u64) = (void *)38;
static u64 (*const boottime)(void) = (void *)125;

/// A map, or the one element of it: a number that the loader finds and puts the right one in for.
#define MAP(number)                                                                                    \
    ({                                                                                                 \
        void *map;                                                                                     \
        asm volatile("%0 = %1 ll" : "=r"(map) : "i"(0x6D617000 | (number)));                           \
        map;                                                                                           \
    })

/// A step for each number from 0 on, in a row and not in a loop: without CAP_PERFMON the verifier wants
/// pointers to be moved by numbers that it finds in the code (Spectre).
#define TIMES4(step, first) step(first) step(first + 1) step(first + 2) step(first + 3)
#define TIMES16(step, first)                                                                           \
    TIMES4(step, first) TIMES4(step, first + 4) TIMES4(step, first + 8) TIMES4(step, first + 12)

/// Keeps the compiler from knowing what a number was before, so that its bounds are tested here, where
/// the verifier sees them.
#define HIDE(number) asm volatile("" : "+r"(number))

INLINE u16 swap16(u16 number) { return __builtin_bswap16(number); }
INLINE u32 swap32(u32 number) { return __builtin_bswap32(number); }

/// UDP and DNS headers, in network order.
struct heads {
    u16 source, destination, count, check;
    u16 id, flags, questions, answers, authorities, additionals;
};

struct ipv4 {
    u8 version, service;
    u16 count, id, fragment;
    u8 hops, protocol;
    u16 check;
    u32 source, destination;
};

struct ipv6 {
    u32 version;
    u16 count;
    u8 next, hops;
    u32 source[4], destination[4];
};

enum { ETHERNET = 14, UDP_OCTETS = 8, DNS_OCTETS = 12, OPT_OCTETS = 11 };
enum { LARGEST_PAYLOAD = 1232, LEAST_LIMIT = 512 };

/// A sum of 16-bit numbers in ones' complement, whichever their order.
INLINE u16 folded(u64 sum) {
    sum = (sum & 0xFFFFFFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

/// Whether it is this one that a worker listens on.
INLINE int is_same(const struct answer_listener *listener, const u32 *address, u16 family, u16 port) {
    if (listener->port != port || listener->family != family || listener->address[0] != address[0])
        return 0;
    return family == 4 || (listener->address[1] == address[1] && listener->address[2] == address[2] &&
                           listener->address[3] == address[3]);
}

/// Whether a worker listens there.
INLINE int is_ours(const struct answer_state *state, const u32 *address, u16 family, u16 port) {
#define LISTENER(index)                                                                                \
    if ((index) >= state->listener_count)                                                              \
        return 0;                                                                                      \
    if (is_same(&state->listeners[index], address, family, port))                                      \
        return 1;
    TIMES16(LISTENER, 0)
    return 0;
}

/// Takes `age` seconds from the TTL at `place`, down to zero; not 0 on failure.
INLINE long shorten(struct __sk_buff *skb, u32 place, u32 age) {
    u32 ttl = 0;
    if (skb_load(skb, place, &ttl, sizeof ttl) != 0)
        return -1;
    ttl = swap32(ttl);
    ttl = swap32(ttl > age ? ttl - age : 0);
    return skb_store(skb, place, &ttl, sizeof ttl, 0);
}

__attribute__((section("tc"), used)) int answer(struct __sk_buff *skb) {
    const struct answer_state *state = MAP(ANSWER_MAP_STATE);
    const u32 families = *(volatile const u32 *)&state->families;
    if (!families)
        return PASSED;

    // From whom to whom: headers of one size, and nobody but this machine itself.
    const u8 *data = (const u8 *)(long)skb->data;
    const u8 *end = (const u8 *)(long)skb->data_end;
    u32 udp_at;
    u16 udp_count;
    u64 sum;
    if (skb->protocol == swap16(0x0800)) {
        const struct ipv4 *ip = (const void *)(data + ETHERNET);
        if ((const u8 *)(ip + 1) + sizeof(struct heads) > end)
            return PASSED;
        const struct heads *heads = (const void *)(ip + 1);
        if (ip->version != 0x45 || ip->protocol != 17 || (ip->fragment & swap16(0x3FFF)) != 0)
            return PASSED;
        if (!(families & ANSWER_IPV4) || (ip->source & 0xFF) != 127)
            return PASSED;
        if (!is_ours(state, &ip->destination, 4, heads->destination))
            return PASSED;
        udp_at = ETHERNET + sizeof *ip;
        if (swap16(ip->count) != skb->len - ETHERNET)
            return PASSED;
        sum = (u64)ip->source + ip->destination;
    } else if (skb->protocol == swap16(0x86DD)) {
        const struct ipv6 *ip = (const void *)(data + ETHERNET);
        if ((const u8 *)(ip + 1) + sizeof(struct heads) > end)
            return PASSED;
        const struct heads *heads = (const void *)(ip + 1);
        if ((ip->version & 0xF0) != 0x60 || ip->next != 17 || !(families & ANSWER_IPV6))
            return PASSED;
        if (ip->source[0] || ip->source[1] || ip->source[2] || ip->source[3] != swap32(1))
            return PASSED;
        if (!is_ours(state, ip->destination, 6, heads->destination))
            return PASSED;
        udp_at = ETHERNET + sizeof *ip;
        if (swap16(ip->count) != skb->len - udp_at)
            return PASSED;
        sum = (u64)ip->source[3] + ip->destination[0] + ip->destination[1] + ip->destination[2] +
              ip->destination[3];
    } else {
        return PASSED;
    }
    udp_count = skb->len - udp_at;
    if (skb->gso_size != 0 || skb->vlan_present || skb->len > 0x1FF)
        return PASSED;

    // What is asked: one question, and perhaps an OPT that has nothing in it.
    struct heads heads;
    if (skb_load(skb, udp_at, &heads, sizeof heads) != 0)
        return PASSED;
    if (swap16(heads.count) != udp_count || heads.source == 0)
        return PASSED;
    // Loopback leaves the sum of the pseudo-header where the check belongs; what somebody else has
    // worked out is not checked here.
    sum += swap16(17);
    if (heads.check == 0 ? udp_at != ETHERNET + sizeof(struct ipv4)
                         : heads.check != folded(sum + heads.count))
        return PASSED;
    const u16 flags = swap16(heads.flags);
    if ((flags & 0xF800) != 0 || heads.questions != swap16(1) || heads.answers != 0 ||
        heads.authorities != 0 || (heads.additionals & ~swap16(1)) != 0)
        return PASSED;
    const u32 opt_count = heads.additionals != 0 ? OPT_OCTETS : 0;
    // Its length is known from the message's; that it is a name, from that it is one we know.
    u32 name_count = skb->len - udp_at - UDP_OCTETS - DNS_OCTETS - 4 - opt_count;
    HIDE(name_count);
    if (name_count - 1 >= 255)
        return PASSED;
    const u32 name_at = udp_at + UDP_OCTETS + DNS_OCTETS;
    const u32 question_end = name_at + name_count + 4;

    u8 opt[OPT_OCTETS + 1] = {0};
    if (opt_count != 0) {
        if (skb_load(skb, question_end, opt, OPT_OCTETS) != 0)
            return PASSED;
        if (opt[0] != 0 || opt[1] != 0 || opt[2] != 41 || opt[6] != 0 || opt[9] != 0 || opt[10] != 0)
            return PASSED;
    }
    // CD and DO; AD is for those who set it or DO.
    const u8 variant = (flags & 0x0010) >> 3 | opt[7] >> 7;
    const u16 wanted = (flags & 0x0020) | (opt[7] & 0x80) >> 2;
    u32 kind;
    if (skb_load(skb, name_at + name_count, &kind, sizeof kind) != 0 || kind >> 16 != swap16(1))
        return PASSED;
    const u16 type = swap16(kind & 0xFFFF);

    // Who knows.
    const u64 sequence = *(volatile const u64 *)&state->sequence;
    if (sequence & 1)
        return PASSED;
    u64 name[ANSWER_NAME_OCTETS / 8] = {0};
    if (skb_load(skb, name_at, name, name_count) != 0)
        return PASSED;
    u64 hash = answer_hash_start(state->seed, type, name_count);
    // One for each row of steps, or the verifier follows what comes after once for each length.
    u32 same_count = name_count;
    HIDE(same_count);
    const u32 hashed_words = (name_count + 7) / 8, compared_words = (same_count + 7) / 8;
#define HASH(word)                                                                                     \
    if ((word) >= hashed_words)                                                                        \
        goto hashed;                                                                                   \
    name[word] = answer_lower(name[word]);                                                             \
    hash = answer_hash_step(hash, name[word]);
    TIMES16(HASH, 0)
    TIMES16(HASH, 16)
hashed:;
    u64 key = answer_hash_end(hash, ANSWER_FOR_ALL);
    const struct answer *known = map_lookup(MAP(ANSWER_MAP_ANSWERS), &key);
    if (!known) {
        key = answer_hash_end(hash, variant);
        known = map_lookup(MAP(ANSWER_MAP_ANSWERS), &key);
        if (!known)
            return PASSED;
    }
    if (known->type != type || known->name_count != name_count ||
        (known->variant != ANSWER_FOR_ALL && known->variant != variant))
        return PASSED;
#define COMPARE(word)                                                                                  \
    if ((word) >= compared_words)                                                                      \
        goto compared;                                                                                 \
    if (name[word] != known->name[word])                                                               \
        return PASSED;
    TIMES16(COMPARE, 0)
    TIMES16(COMPARE, 16)
compared:;
    const u64 now = boottime();
    if (now >= known->ends_at)
        return PASSED;
    const u32 age = (now - known->stored_at) / 1000000000;
    u32 section_count = known->section_count;
    HIDE(section_count);
    if (section_count > ANSWER_SECTION_OCTETS)
        return PASSED;
    const u32 reply_count = question_end - name_at + DNS_OCTETS + section_count + opt_count;
    const u32 size = opt[3] << 8 | opt[4];
    if (reply_count > LEAST_LIMIT && (reply_count > size || reply_count > LARGEST_PAYLOAD))
        return PASSED;
    const u32 slot = known->slot;
    u64 *const hits = map_lookup(MAP(ANSWER_MAP_HITS), &slot);
    if (!hits)
        return PASSED;

    // The answer, behind the question; the headers stay those of a query until it is sure to be right.
    const u32 query_octets = skb->len;
    const u32 reply_octets = udp_at + UDP_OCTETS + reply_count;
    if (skb_resize(skb, reply_octets, 0) != 0)
        return PASSED;
    long failed = 0;
    if (section_count > 0)
        failed |= skb_store(skb, question_end, known->sections, section_count, 0);
#define TTL(index)                                                                                     \
    if ((index) >= known->ttl_count)                                                                   \
        goto aged;                                                                                     \
    failed |= shorten(skb, question_end + known->ttls[index], age);
    TIMES16(TTL, 0)
aged:
    if (opt_count != 0) {
        u8 ours[OPT_OCTETS + 1] = {0,          0, 41, LARGEST_PAYLOAD >> 8, LARGEST_PAYLOAD & 0xFF, 0, 0,
                                   opt[7] & 0x80};
        failed |= skb_store(skb, question_end + section_count, ours, OPT_OCTETS, 0);
    }
    heads.flags = swap16(0x8080 | (flags & 0x0110) | (known->flags & (wanted | 0x000F)));
    heads.answers = swap16(known->counts[0]);
    heads.authorities = swap16(known->counts[1]);
    heads.additionals = swap16(known->counts[2] + (opt_count != 0));

    // All of it is copied before the number is read again: an atomic operation with a result keeps the
    // order on every processor.
    u64 fence = 0;
    __sync_fetch_and_add(&fence, 1);
    asm volatile("" : : "r"(fence) : "memory");
    if (failed || *(volatile const u64 *)&state->sequence != sequence) {
        if (opt_count != 0)
            skb_store(skb, question_end, opt, OPT_OCTETS, 0);
        skb_resize(skb, query_octets, 0);
        return PASSED;
    }

    const u16 source = heads.source;
    heads.source = heads.destination;
    heads.destination = source;
    heads.count = swap16(reply_octets - udp_at);
    if (heads.check != 0)
        heads.check = folded(sum + heads.count);
    skb_store(skb, udp_at, &heads, sizeof heads, 0);
    if (udp_at == ETHERNET + sizeof(struct ipv4)) {
        struct ipv4 ip;
        skb_load(skb, ETHERNET, &ip, sizeof ip);
        const u32 asker = ip.source;
        ip.source = ip.destination;
        ip.destination = asker;
        // What was wrong stays wrong.
        const u16 count = swap16(reply_octets - ETHERNET);
        ip.check = ~folded((u64)(u16)~ip.check + (u16)~ip.count + count);
        ip.count = count;
        skb_store(skb, ETHERNET, &ip, sizeof ip, 0);
    } else {
        struct ipv6 ip;
        skb_load(skb, ETHERNET, &ip, sizeof ip);
        for (int word = 0; word < 4; word++) {
            const u32 asker = ip.source[word];
            ip.source[word] = ip.destination[word];
            ip.destination[word] = asker;
        }
        ip.count = swap16(reply_octets - udp_at);
        skb_store(skb, ETHERNET, &ip, sizeof ip, 0);
    }
    __sync_fetch_and_add(hits, 1);
    return ANSWERED;
}
