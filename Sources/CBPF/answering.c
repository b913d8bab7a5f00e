// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CBPF.h"

#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Missing in kernel headers before 6.6.
enum { TCX_INGRESS = 46 };

enum { PLACEHOLDER = 0x6D617000, LOAD_64 = 0x18 };

static const uint8_t program[] = {
#include "Program/answer.inc"
};

static int bpf(int command, union bpf_attr *attributes) {
    const long result = syscall(__NR_bpf, command, attributes, sizeof *attributes);
    return result < 0 ? -errno : (int)result;
}

static int make_map(const char *name, uint32_t type, uint32_t key, uint32_t value, uint32_t entries,
                    uint32_t flags) {
    union bpf_attr attributes = {
        .map_type = type,
        .key_size = key,
        .value_size = value,
        .max_entries = entries,
        .map_flags = flags,
    };
    memcpy(attributes.map_name, name, strnlen(name, sizeof attributes.map_name - 1));
    return bpf(BPF_MAP_CREATE, &attributes);
}

static void *map_memory(int map, size_t octets, int protection) {
    void *memory = mmap(NULL, octets, protection, MAP_SHARED, map, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int load_program(const struct bpf_answering *answering, char *log, uint32_t log_octets) {
    struct bpf_insn code[sizeof program / sizeof(struct bpf_insn)];
    _Static_assert(sizeof code == sizeof program, "whole instructions");
    memcpy(code, program, sizeof code);
    const size_t count = sizeof code / sizeof *code;
    for (size_t index = 0; index + 1 < count; index++) {
        const int32_t number = code[index].imm - PLACEHOLDER;
        if (code[index].code != LOAD_64 || number < 0 || number >= ANSWER_MAPS)
            continue;
        code[index].src_reg = number == ANSWER_MAP_STATE ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
        code[index].imm = answering->maps[number];
        code[index + 1].imm = 0;
        index++;
    }
    union bpf_attr attributes = {
        .prog_type = BPF_PROG_TYPE_SCHED_CLS,
        .insns = (uintptr_t)code,
        .insn_cnt = (uint32_t)count,
        .license = (uintptr_t) "Apache-2.0",
        .prog_name = "httpdnsd",
    };
    int loaded = bpf(BPF_PROG_LOAD, &attributes);
    if (loaded >= 0 || log_octets == 0 || loaded == -EPERM)
        return loaded;
    attributes.log_buf = (uintptr_t)log;
    attributes.log_size = log_octets;
    attributes.log_level = 1;
    loaded = bpf(BPF_PROG_LOAD, &attributes);
    log[log_octets - 1] = 0;
    return loaded;
}

static int open_all(struct bpf_answering *answering, bpf_failure *failure, char *log,
                    uint32_t log_octets) {
    const uint32_t entries = answering->entries;
    int *maps = answering->maps;
    *failure = "the BPF map of settings";
    maps[ANSWER_MAP_STATE] = make_map("httpdnsd_state", BPF_MAP_TYPE_ARRAY, 4,
                                      sizeof(struct answer_state), 1, BPF_F_MMAPABLE);
    if (maps[ANSWER_MAP_STATE] < 0)
        return maps[ANSWER_MAP_STATE];
    *failure = "the BPF map of answers";
    maps[ANSWER_MAP_ANSWERS] = make_map("httpdnsd_answer", BPF_MAP_TYPE_HASH, 8,
                                        sizeof(struct answer), entries, BPF_F_NO_PREALLOC);
    if (maps[ANSWER_MAP_ANSWERS] < 0)
        return maps[ANSWER_MAP_ANSWERS];
    *failure = "the BPF map of hits";
    maps[ANSWER_MAP_HITS] =
        make_map("httpdnsd_hits", BPF_MAP_TYPE_ARRAY, 4, 8, entries, BPF_F_MMAPABLE);
    if (maps[ANSWER_MAP_HITS] < 0)
        return maps[ANSWER_MAP_HITS];
    *failure = "the memory of the BPF maps";
    answering->state = map_memory(maps[ANSWER_MAP_STATE], sizeof *answering->state, PROT_READ | PROT_WRITE);
    answering->hits = map_memory(maps[ANSWER_MAP_HITS], 8 * (size_t)entries, PROT_READ);
    if (!answering->state || !answering->hits)
        return -ENOMEM;
    *failure = "the BPF program";
    answering->program = load_program(answering, log, log_octets);
    return answering->program < 0 ? answering->program : 0;
}

int bpf_answering_open(struct bpf_answering *answering, uint32_t entries, bpf_failure *failure,
                       char *log, uint32_t log_octets) {
    *answering = (struct bpf_answering){.maps = {-1, -1, -1}, .program = -1, .entries = entries};
    if (log_octets > 0)
        log[0] = 0;
    const int result = open_all(answering, failure, log, log_octets);
    if (result < 0)
        bpf_answering_close(answering);
    return result;
}

void bpf_answering_close(struct bpf_answering *answering) {
    if (answering->state)
        munmap(answering->state, sizeof *answering->state);
    if (answering->hits)
        munmap(answering->hits, 8 * (size_t)answering->entries);
    for (int index = 0; index < ANSWER_MAPS; index++)
        if (answering->maps[index] >= 0)
            close(answering->maps[index]);
    if (answering->program >= 0)
        close(answering->program);
    *answering = (struct bpf_answering){.maps = {-1, -1, -1}, .program = -1};
}

int bpf_answering_attach(const struct bpf_answering *answering, int device) {
    union bpf_attr attributes = {0};
    attributes.link_create.prog_fd = (uint32_t)answering->program;
    attributes.link_create.target_ifindex = (uint32_t)device;
    attributes.link_create.attach_type = TCX_INGRESS;
    return bpf(BPF_LINK_CREATE, &attributes);
}

int bpf_loopback_device(void) {
    const unsigned int device = if_nametoindex("lo");
    return device == 0 ? -errno : (int)device;
}

static const uint8_t our_opt[ANSWER_OPT_OCTETS] = {0, 0, 41, 1232 >> 8, 1232 & 0xFF};

static void lower(uint64_t *lowered, const uint8_t *name, uint8_t count) {
    memset(lowered, 0, ANSWER_NAME_OCTETS);
    memcpy(lowered, name, count);
    for (unsigned int word = 0; word < answer_words(count); word++)
        lowered[word] = answer_lower(lowered[word]);
}

int bpf_answering_put(const struct bpf_answering *answering, uint64_t key, struct answer *answer,
                      const uint8_t *name, const uint8_t *ttl_offsets, const uint8_t *sections) {
    if (answer->ttl_count > ANSWER_TTLS || answer->section_count > ANSWER_SECTION_OCTETS)
        return -EINVAL;
    lower((uint64_t *)answer->octets, name, answer->name_count);
    uint8_t *end = answer->octets + 8 * answer_words(answer->name_count);
    if (answer->section_count > 0)
        memcpy(end, sections, answer->section_count);
    memcpy(end + answer->section_count, our_opt, sizeof our_opt);
    for (unsigned int index = 0; index < answer->ttl_count; index++) {
        uint16_t offset;
        memcpy(&offset, ttl_offsets + 2 * index, sizeof offset);
        // TTL offsets of the map count from the end of the question.
        answer->ttls[index] = offset - (12 + answer->name_count + 4);
    }
    union bpf_attr attributes = {
        .map_fd = (uint32_t)answering->maps[ANSWER_MAP_ANSWERS],
        .key = (uintptr_t)&key,
        .value = (uintptr_t)answer,
    };
    return bpf(BPF_MAP_UPDATE_ELEM, &attributes);
}

int bpf_answering_remove(const struct bpf_answering *answering, uint64_t key) {
    union bpf_attr attributes = {
        .map_fd = (uint32_t)answering->maps[ANSWER_MAP_ANSWERS],
        .key = (uintptr_t)&key,
    };
    return bpf(BPF_MAP_DELETE_ELEM, &attributes);
}

void bpf_answering_begin(struct answer_state *state) {
    __atomic_fetch_add(&state->sequence, 1, __ATOMIC_SEQ_CST);
}

void bpf_answering_end(struct answer_state *state) {
    __atomic_fetch_add(&state->sequence, 1, __ATOMIC_SEQ_CST);
}

void bpf_answering_families(struct answer_state *state, uint32_t families) {
    __atomic_store_n(&state->families, families, __ATOMIC_SEQ_CST);
}

uint64_t bpf_answering_hits(const struct bpf_answering *answering, uint32_t slot) {
    return slot < answering->entries ? __atomic_load_n(&answering->hits[slot], __ATOMIC_RELAXED) : 0;
}

int bpf_answering_try(const struct bpf_answering *answering, uint8_t *frame, uint32_t count,
                      uint32_t room) {
    union bpf_attr attributes = {0};
    attributes.test.prog_fd = (uint32_t)answering->program;
    attributes.test.data_in = attributes.test.data_out = (uintptr_t)frame;
    attributes.test.data_size_in = count;
    attributes.test.data_size_out = room;
    attributes.test.repeat = 1;
    const int result = bpf(BPF_PROG_TEST_RUN, &attributes);
    if (result < 0)
        return result;
    return attributes.test.retval == 0 ? (int)attributes.test.data_size_out : 0;
}

void bpf_answering_secrets(struct answer_state *state, const uint64_t *secrets) {
    memcpy(state->secrets, secrets, sizeof state->secrets);
}

uint64_t bpf_answering_key(const struct answer_state *state, const uint8_t *name, uint8_t count,
                           uint16_t type, uint8_t variant) {
    uint64_t lowered[ANSWER_NAME_OCTETS / 8];
    lower(lowered, name, count);
    uint64_t hash = answer_hash_start(state, type, count);
    const unsigned int last = answer_words(count) - 1;
    for (unsigned int word = 0; word < last; word++)
        hash = answer_hash_step(hash, lowered[word], state->secrets[word]);
    hash = answer_hash_step(hash, lowered[last], state->secrets[ANSWER_SECRET_OF_LAST]);
    return answer_hash_end(hash, variant);
}

void bpf_answering_listen(struct answer_state *state, const struct answer_listener *listeners,
                          uint32_t count) {
    state->listener_count = 0;
    memcpy(state->listeners, listeners, count * sizeof *listeners);
    state->listener_count = count;
}
