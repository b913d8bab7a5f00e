// SPDX-License-Identifier: Apache-2.0
//
// Loader of the BPF program that answers on loopback. Uses bpf(2) directly: a library would be a
// dependency for five system calls.
#pragma once
#include "answer.h"
#include <stddef.h>

/// The maps and the program; descriptors, or -1.
struct bpf_answering {
    int maps[ANSWER_MAPS];
    int program;

    /// Mapped: the state, written by the daemon, and the hit counters, read by the daemon.
    struct answer_state *state;
    uint64_t *hits;
    uint32_t entries;
};

/// Failed item for error messages, such as "the BPF program".
typedef const char *bpf_failure;

/// Creates maps for at most `entries` answers and loads the program.
///
/// Returns 0, or a negated errno with `failure` set and everything released. `log` receives the log of
/// the verifier if the kernel rejects the program, otherwise an empty string.
int bpf_answering_open(struct bpf_answering *answering, uint32_t entries, bpf_failure *failure,
                       char *log, uint32_t log_octets);

void bpf_answering_close(struct bpf_answering *answering);

/// Attaches the program to the ingress of the device until the returned descriptor is closed, also by
/// the end of the process.
///
/// Returns a negated errno on failure: EINVAL from kernels before 6.6.
int bpf_answering_attach(const struct bpf_answering *answering, int device);

/// Returns the index of the loopback device, or a negated errno.
int bpf_loopback_device(void);

/// Adds or replaces an answer; returns -E2BIG if the map is full.
///
/// The caller sets the fixed fields of `answer`. This function adds the name (in wire form), the
/// sections and the TTL offsets, which count from the start of a message.
int bpf_answering_put(const struct bpf_answering *answering, uint64_t key, struct answer *answer,
                      const uint8_t *name, const uint8_t *ttl_offsets, const uint8_t *sections);

/// Returns -ENOENT if the answer does not exist.
int bpf_answering_remove(const struct bpf_answering *answering, uint64_t key);

/// Begins and ends a batch of changes; in between, the program does not use the answers.
void bpf_answering_begin(struct answer_state *state);
void bpf_answering_end(struct answer_state *state);

/// Sets the address families that the program answers.
void bpf_answering_families(struct answer_state *state, uint32_t families);

/// Returns the hit count of a slot.
uint64_t bpf_answering_hits(const struct bpf_answering *answering, uint32_t slot);

/// Runs the program on one Ethernet frame as if received, in a buffer of `room` octets.
///
/// Returns the size of the resulting frame, 0 if the program passes the frame, or a negated errno.
int bpf_answering_try(const struct bpf_answering *answering, uint8_t *frame, uint32_t count,
                      uint32_t room);

/// Sets the `ANSWER_SECRETS` secrets of the keys; call before any answer is added.
void bpf_answering_secrets(struct answer_state *state, const uint64_t *secrets);

/// Returns the key of an answer; `name` is in wire form.
uint64_t bpf_answering_key(const struct answer_state *state, const uint8_t *name, uint8_t count,
                           uint16_t type, uint8_t variant);

/// Sets the addresses of the workers, at most `ANSWER_LISTENERS`; call between `begin` and `end`.
void bpf_answering_listen(struct answer_state *state, const struct answer_listener *listeners,
                          uint32_t count);
