// SPDX-License-Identifier: Apache-2.0
//
// The program that answers on loopback, and what it takes to have the kernel run it: bpf(2) and
// nothing else, as a library for five system calls would be one more that every machine needs.
#pragma once
#include "answer.h"
#include <stddef.h>

/// The maps and the program; descriptors, or -1.
struct bpf_answering {
    int maps[ANSWER_MAPS];
    int program;

    /// What the daemon writes, and what it reads: mapped memory.
    struct answer_state *state;
    uint64_t *hits;
    uint32_t entries;
};

/// What failed, for people: "the program", "the map of answers".
typedef const char *bpf_failure;

/// Makes maps for at most `entries` answers and loads the program.
///
/// Returns 0, or a negated errno with `failure` set; then nothing is left.  `log` gets what the kernel
/// has to say of the program, if it does not take it, and is made empty otherwise.
int bpf_answering_open(struct bpf_answering *answering, uint32_t entries, bpf_failure *failure,
                       char *log, uint32_t log_octets);

/// Unmaps and closes everything.
void bpf_answering_close(struct bpf_answering *answering);

/// Runs the program on all that comes in on the device from now on, for as long as the descriptor
/// returned is open: the kernel lets go of it when the process ends, however it does.
///
/// Returns a negated errno on failure; EINVAL from kernels before 6.6.
int bpf_answering_attach(const struct bpf_answering *answering, int device);

/// The number of the loopback device, or a negated errno.
int bpf_loopback_device(void);

/// Puts an answer in place of another one, or a new one: -E2BIG if there are as many as may be.
///
/// `answer` has all its numbers; name, TTLs and sections are filled in.  The name is in wire form, and
/// `ttl_offsets` count from the start of a message.
int bpf_answering_put(const struct bpf_answering *answering, uint64_t key, struct answer *answer,
                      const uint8_t *name, const uint8_t *ttl_offsets, const uint8_t *sections);

/// Takes an answer out; -ENOENT if there is none.
int bpf_answering_remove(const struct bpf_answering *answering, uint64_t key);

/// Between these two calls nobody is answered by what is put or taken out.
void bpf_answering_begin(struct answer_state *state);
void bpf_answering_end(struct answer_state *state);

/// Whose queries are answered from now on.
void bpf_answering_families(struct answer_state *state, uint32_t families);

/// How often an answer in this slot was given.
uint64_t bpf_answering_hits(const struct bpf_answering *answering, uint32_t slot);

/// Runs the program on one Ethernet frame, as if it had come in, and puts what became of it in its
/// place, which has room for `room` octets.
///
/// Returns the octets there, 0 if the program let it pass, or a negated errno.
int bpf_answering_try(const struct bpf_answering *answering, uint8_t *frame, uint32_t count,
                      uint32_t room);

/// Sets the secrets of keys, `ANSWER_SECRETS` of them, before there are answers.
void bpf_answering_secrets(struct answer_state *state, const uint64_t *secrets);

/// The key of an answer; `name` is in wire form.
uint64_t bpf_answering_key(const struct answer_state *state, const uint8_t *name, uint8_t count,
                           uint16_t type, uint8_t variant);

/// Sets where workers listen, at most `ANSWER_LISTENERS`; between `begin` and `end`.
void bpf_answering_listen(struct answer_state *state, const struct answer_listener *listeners,
                          uint32_t count);
