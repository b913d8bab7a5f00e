// SPDX-License-Identifier: Apache-2.0
//
// Answers the common form of queries on the loopback device (see `QueryView`), inside the client's
// system call. `scripts/bpf` compiles this file to `answer.inc`.
//
// The program writes to packets through helpers: for direct writes, the kernel would copy every
// shared packet. Without CAP_PERFMON, the verifier adds a slow speculation barrier to the first
// write to a stack slot, unless a helper has filled the slot.
//
// Numbers that the compiler may spill to the stack have 64 bits, because the verifier of Linux 6.1
// treats shorter numbers as partial pointers.
#include "packet.h"

enum { PASSED = -1, ANSWERED = 0 };

/// Fields up to the last used field (linux/bpf.h).
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

/// The loader replaces the placeholder.
#define MAP(number)                                                                                    \
    ({                                                                                                 \
        void *map;                                                                                     \
        asm volatile("%0 = %1 ll" : "=r"(map) : "i"(0x6D617000 | (number)));                           \
        map;                                                                                           \
    })

/// Without CAP_PERFMON, the verifier rejects variables in pointer arithmetic (Spectre).
#define TIMES4(step, first) step(first) step(first + 1) step(first + 2) step(first + 3)
#define TIMES16(step, first)                                                                           \
    TIMES4(step, first) TIMES4(step, first + 4) TIMES4(step, first + 8) TIMES4(step, first + 12)
#define TIMES32(step)                                                                                  \
    TIMES16(step, 0)                                                                                   \
    TIMES16(step, 16)

/// Makes the compiler emit the bounds checks for the verifier.
#define HIDE(number) asm volatile("" : "+r"(number))

/// Computes a packet pointer here, because the verifier rejects a pointer that branches share.
#define FIX(pointer, why) asm volatile("# " why : "+r"(pointer))

/// Keeps the order of stores: the verifier of Linux 6.1 requires that the first of the eight octets
/// of a spilled number is stored last.
#define LAST() asm volatile("" : : : "memory")

INLINE int is_same(const struct answer_listener *listener, const u32 *address, u16 family, u16 port) {
    if (listener->port != port || listener->family != family || listener->address[0] != address[0])
        return 0;
    return family == 4 || (listener->address[1] == address[1] && listener->address[2] == address[2] &&
                           listener->address[3] == address[3]);
}

INLINE int is_ours(const struct answer_state *state, const u32 *address, u16 family, u16 port) {
#define LISTENER(index)                                                                                \
    if ((index) >= state->listener_count)                                                              \
        return 0;                                                                                      \
    if (is_same(&state->listeners[index], address, family, port))                                      \
        return 1;
    TIMES16(LISTENER, 0)
    return 0;
}

INLINE int has_opt(const struct tail *tail) { return tail->opt[2] != 0; }

/// A helper call invalidates packet pointers.
#define FIND_WORDS(why)                                                                                \
    data = (const u8 *)(long)*(volatile u32 *)&skb->data;                                              \
    end = (const u8 *)(long)*(volatile u32 *)&skb->data_end;                                           \
    if (udp_at == ETHERNET + sizeof(struct ipv4)) {                                                    \
        words = (const u64 *)(data + ETHERNET + sizeof(struct ipv4) + sizeof(struct heads));           \
        FIX(words, why " of IPv4");                                                                    \
    } else {                                                                                           \
        words = (const u64 *)(data + ETHERNET + sizeof(struct ipv6) + sizeof(struct heads));           \
        FIX(words, why " of IPv6");                                                                    \
    }

__attribute__((section("tc"), used)) int answer(struct __sk_buff *skb) {
    const struct answer_state *state = MAP(ANSWER_MAP_STATE);
    const u32 families = *(volatile const u32 *)&state->families;
    if (!families)
        return PASSED;

    const u8 *data = (const u8 *)(long)skb->data;
    const u8 *end = (const u8 *)(long)skb->data_end;
    struct frame frame;
    struct heads *const heads = &frame.heads;
    u64 udp_at;
    u64 sum;
    if (skb->protocol == swap16(0x0800)) {
        const struct ipv4 *ip = (const void *)(data + ETHERNET);
        const struct heads *there = (const void *)(ip + 1);
        if ((const u8 *)(there + 1) > end)
            return PASSED;
        if (ip->version != 0x45 || ip->protocol != 17 || (ip->fragment & swap16(0x3FFF)) != 0)
            return PASSED;
        if (!(families & ANSWER_IPV4) || (ip->source & 0xFF) != 127)
            return PASSED;
        if (!is_ours(state, &ip->destination, 4, there->destination))
            return PASSED;
        if (swap16(ip->count) != skb->len - ETHERNET)
            return PASSED;
        udp_at = ETHERNET + sizeof *ip;
        sum = (u64)ip->source + ip->destination;
        // The verifier assumes that the later code for IPv6 can also read these octets for IPv4.
        *(u64 *)&frame = 0;
        if (skb_load(skb, 0, frame.ethernet, ETHERNET + sizeof frame.v4 + sizeof frame.heads) != 0)
            return PASSED;
    } else if (skb->protocol == swap16(0x86DD)) {
        const struct ipv6 *ip = (const void *)(data + ETHERNET);
        const struct heads *there = (const void *)(ip + 1);
        if ((const u8 *)(there + 1) > end)
            return PASSED;
        if ((ip->version & 0xF0) != 0x60 || ip->next != 17 || !(families & ANSWER_IPV6))
            return PASSED;
        if (ip->source[0] || ip->source[1] || ip->source[2] || ip->source[3] != swap32(1))
            return PASSED;
        if (!is_ours(state, ip->destination, 6, there->destination))
            return PASSED;
        udp_at = ETHERNET + sizeof *ip;
        if (swap16(ip->count) != skb->len - udp_at)
            return PASSED;
        sum = (u64)ip->source[3] + ip->destination[0] + ip->destination[1] + ip->destination[2] +
              ip->destination[3];
        if (skb_load(skb, ETHERNET, &frame.v6, sizeof frame.v6 + sizeof frame.heads) != 0)
            return PASSED;
    } else {
        return PASSED;
    }
    if (skb->gso_size != 0 || skb->vlan_present || skb->len > 0x1FF)
        return PASSED;

    if (swap16(heads->count) != skb->len - udp_at || heads->source == 0)
        return PASSED;
    // On loopback, the kernel computes the checksum of the pseudo-header only.
    if (heads->check == 0 ? udp_at != ETHERNET + sizeof(struct ipv4)
                          : heads->check != folded(sum + swap16(17) + heads->count))
        return PASSED;
    if ((heads->flags & swap16(0xF800)) != 0 || heads->questions != swap16(1) || heads->answers != 0 ||
        heads->authorities != 0 || (heads->additionals & ~swap16(1)) != 0)
        return PASSED;
    // The name must equal the name of a known answer, so it is not validated.
    u64 name_count = skb->len - udp_at - UDP_OCTETS - DNS_OCTETS - 4;
    if (heads->additionals != 0)
        name_count -= ANSWER_OPT_OCTETS;
    HIDE(name_count);
    if (name_count - 1 >= 255)
        return PASSED;
    struct tail tail = {0};
    const u64 tail_at = udp_at + UDP_OCTETS + DNS_OCTETS + name_count - sizeof tail.last;
    u64 variant = (swap16(heads->flags) & 0x0010) >> 3;
    if (heads->additionals != 0) {
        if (skb_load(skb, tail_at, &tail, TAIL_OCTETS) != 0)
            return PASSED;
        if (tail.opt[0] != 0 || tail.opt[1] != 0 || tail.opt[2] != 41 || tail.opt[6] != 0 ||
            tail.opt[9] != 0 || tail.opt[10] != 0)
            return PASSED;
        variant |= tail.opt[7] >> 7;
    } else if (skb_load(skb, tail_at, &tail, TAIL_OCTETS - ANSWER_OPT_OCTETS) != 0) {
        return PASSED;
    }
    if (tail.class != swap16(1))
        return PASSED;

    state = MAP(ANSWER_MAP_STATE);
    const u64 sequence = *(volatile const u64 *)&state->sequence;
    if (sequence & 1)
        return PASSED;
    u64 hash = answer_hash_start(state, swap16(tail.type), name_count);
    const u64 *words;
    FIND_WORDS("hashed")
    u64 left = name_count / 8;
    HIDE(left);
#define HASH(word)                                                                                     \
    if ((word) >= left)                                                                                \
        goto hashed;                                                                                   \
    if ((const u8 *)(words + (word) + 1) > end)                                                        \
        return PASSED;                                                                                 \
    hash = answer_hash_step(hash, answer_lower(words[word]), state->secrets[word]);
    TIMES32(HASH)
hashed:
    tail.last = answer_lower(tail.last >> 8 >> (56 - 8 * (name_count % 8)));
    hash = answer_hash_step(hash, tail.last, state->secrets[ANSWER_SECRET_OF_LAST]);
    u64 key = answer_hash_end(hash, ANSWER_FOR_ALL);
    const struct answer *known = map_lookup(MAP(ANSWER_MAP_ANSWERS), &key);
    if (!known) {
        key = answer_hash_end(hash, variant);
        known = map_lookup(MAP(ANSWER_MAP_ANSWERS), &key);
        if (!known)
            return PASSED;
    }
    if (known->type != swap16(tail.type) || known->name_count != name_count ||
        (known->variant != ANSWER_FOR_ALL && known->variant != variant))
        return PASSED;
    FIND_WORDS("compared")
    left = name_count / 8;
    HIDE(left);
#define COMPARE(word)                                                                                  \
    if ((word) >= left)                                                                                \
        goto compared;                                                                                 \
    if ((const u8 *)(words + (word) + 1) > end ||                                                      \
        answer_lower(words[word]) != ((const u64 *)known->octets)[word])                               \
        return PASSED;
    TIMES32(COMPARE)
compared:;
    u64 compared_octets = name_count & ~7;
    HIDE(compared_octets);
    if (compared_octets > ANSWER_NAME_OCTETS - 8)
        return PASSED;
    const u8 *sections = known->octets + compared_octets;
    if (*(const u64 *)sections != tail.last)
        return PASSED;
    sections += 8;
    const u64 now = boottime();
    if (now >= known->ends_at)
        return PASSED;
    const u64 age = (now - known->stored_at) / 1000000000;
    const u64 question_end = udp_at + UDP_OCTETS + DNS_OCTETS + name_count + 4;
    u64 written = known->section_count;
    if (has_opt(&tail))
        written += ANSWER_OPT_OCTETS;
    const u64 reply_octets = question_end + written;
    const u64 reply_count = reply_octets - udp_at - UDP_OCTETS;
    if (reply_count > LEAST_LIMIT) {
        if (reply_count > LARGEST_PAYLOAD || reply_count > (u64)(tail.opt[3] << 8 | tail.opt[4]))
            return PASSED;
    }

    // The packet keeps the headers of the query until the reply is valid.
    if (skb_resize(skb, reply_octets, 0) != 0)
        return PASSED;
    // The verifier of Linux 6.1 forgets the bounds of numbers on the stack.
    HIDE(written);
    if ((int64_t)written > 0 && (written > ANSWER_SECTION_OCTETS + ANSWER_OPT_OCTETS ||
                                 skb_store(skb, question_end, sections, written, 0) != 0))
        goto undone;
#define TTL(index)                                                                                     \
    if ((index) >= known->ttl_count)                                                                   \
        goto aged;                                                                                     \
    {                                                                                                  \
        const u64 place = known->ttls[index];                                                          \
        u64 ttl_at = compared_octets + 8 + place;                                                      \
        HIDE(ttl_at);                                                                                  \
        if (ttl_at > ANSWER_OCTETS - sizeof(u32))                                                      \
            goto aged;                                                                                 \
        u32 ttl = swap32(*(const u32 *)(known->octets + ttl_at));                                      \
        ttl = swap32(ttl > age ? ttl - age : 0);                                                       \
        if (skb_store(skb, question_end + place, &ttl, sizeof ttl, 0) != 0)                            \
            goto undone;                                                                               \
    }
    TIMES16(TTL, 0)
aged:
    if (tail.opt[7] & 0x80) {
        const u8 dnssec_ok = 0x80;
        if (skb_store(skb, reply_octets - ANSWER_OPT_OCTETS + 7, &dnssec_ok, 1, 0) != 0)
            goto undone;
    }
    const u32 slot = known->slot;
    const u16 wanted = 0x000F | (swap16(heads->flags) & 0x0020) | (tail.opt[7] & 0x80) >> 2;
    heads->flags = swap16(0x8080 | (swap16(heads->flags) & 0x0110) | (known->flags & wanted));
    heads->answers = swap16(known->counts[0]);
    heads->additionals += swap16(known->counts[2]);
    LAST();
    heads->authorities = swap16(known->counts[1]);

    // The result makes this operation a full barrier.
    key = 0;
    u64 fence = 0;
    asm volatile("%0 = atomic_fetch_add((u64 *)(%1 + 0), %0)" : "+r"(fence) : "r"(&key) : "memory");
    state = MAP(ANSWER_MAP_STATE);
    if (*(volatile const u64 *)&state->sequence != sequence)
        goto undone;

    const u16 count = swap16(reply_octets - udp_at);
    if (heads->check != 0)
        heads->check = folded((u64)heads->check + (u16)~heads->count + count);
    heads->count = count;
    LAST();
    heads->ports = heads->ports >> 16 | heads->ports << 16;
    if (udp_at == ETHERNET + sizeof(struct ipv4)) {
        struct ipv4 *const ip = &frame.v4;
        // A wrong checksum must stay wrong.
        const u16 all = swap16(reply_octets - ETHERNET);
        ip->check = ~folded((u64)(u16)~ip->check + (u16)~ip->count + all);
        ip->count = all;
        ip->addresses = ip->addresses >> 32 | ip->addresses << 32;
        skb_store(skb, ETHERNET, ip, sizeof *ip + sizeof *heads, 0);
    } else {
        struct ipv6 *const ip = &frame.v6;
        ip->count = count;
        for (int word = 0; word < 2; word++) {
            const u64 asker = ip->addresses[word];
            ip->addresses[word] = ip->addresses[word + 2];
            ip->addresses[word + 2] = asker;
        }
        skb_store(skb, ETHERNET, ip, sizeof *ip + sizeof *heads, 0);
    }
    u64 *const hits = map_lookup(MAP(ANSWER_MAP_HITS), &slot);
    if (hits)
        __sync_fetch_and_add(hits, 1);
    return ANSWERED;

undone:
    if (has_opt(&tail))
        skb_store(skb, question_end, tail.opt, ANSWER_OPT_OCTETS, 0);
    skb_resize(skb, question_end + (has_opt(&tail) ? ANSWER_OPT_OCTETS : 0), 0);
    return PASSED;
}
