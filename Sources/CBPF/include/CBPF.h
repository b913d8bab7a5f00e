// SPDX-License-Identifier: Apache-2.0
//
// Loader of the BPF program that answers on loopback.
#pragma once
#include "answer.h"
#include <stddef.h>

/// A descriptor that is not open is -1.
struct bpf_answering {
    int maps[ANSWER_MAPS];
    int program;

    struct answer_state *state;
    uint64_t *hits;
    uint32_t entries;
};

/// Name of the failed item.
typedef const char *bpf_failure;

/// Creates maps for `entries` answers and loads the program.
///
/// Returns 0, or a negated errno with `failure` set. `log` receives the verifier's log.
int bpf_answering_open(struct bpf_answering *answering, uint32_t entries, bpf_failure *failure,
                       char *log, uint32_t log_octets);

void bpf_answering_close(struct bpf_answering *answering);

/// Attaches the program to the ingress of the device until the returned descriptor is closed.
///
/// Returns a negated errno on failure: EINVAL from kernels before 6.6.
int bpf_answering_attach(const struct bpf_answering *answering, int device);

int bpf_loopback_device(void);

/// Adds or replaces an answer; returns -E2BIG if the map is full.
///
/// The caller sets the fixed fields of `answer`. TTL offsets count from the start of a DNS message.
int bpf_answering_put(const struct bpf_answering *answering, uint64_t key, struct answer *answer,
                      const uint8_t *name, const uint8_t *ttl_offsets, const uint8_t *sections);

/// Removes an answer; returns 0, or a negated errno: -ENOENT without an answer.
int bpf_answering_remove(const struct bpf_answering *answering, uint64_t key);

/// Begin and end a change, during which the program answers no query.
void bpf_answering_begin(struct answer_state *state);
void bpf_answering_end(struct answer_state *state);

void bpf_answering_families(struct answer_state *state, uint32_t families);

uint64_t bpf_answering_hits(const struct bpf_answering *answering, uint32_t slot);

/// Returns the size of the reply frame, 0 if the program does not answer, or a negated errno.
int bpf_answering_try(const struct bpf_answering *answering, uint8_t *frame, uint32_t count,
                      uint32_t room);

/// Sets the secrets of the hash, before any answer is added.
void bpf_answering_secrets(struct answer_state *state, const uint64_t *secrets);

uint64_t bpf_answering_key(const struct answer_state *state, const uint8_t *name, uint8_t count,
                           uint16_t type, uint8_t variant);

void bpf_answering_listen(struct answer_state *state, const struct answer_listener *listeners,
                          uint32_t count);
