// SPDX-License-Identifier: Apache-2.0
//
// System headers would hide declarations of Swift's Glibc.
#pragma once
#include <stddef.h>

/// The twin of `struct mmsghdr`, which needs _GNU_SOURCE.
struct datagram_header {
    void *name;
    unsigned int name_octets;
    void *vectors;
    size_t vector_count;
    void *control;
    size_t control_octets;
    int flags;
    unsigned int padding;
    unsigned int octets;
};

/// Receives 1 to `count` datagrams; blocks only until the first one arrives.
///
/// Returns the number of datagrams, or a negated errno.
int datagrams_receive(int fd, struct datagram_header *headers, unsigned int count, int flags);

/// Returns the number of sent datagrams, or a negated errno if none was sent.
int datagrams_send(int fd, struct datagram_header *headers, unsigned int count);

/// Makes the kernel report destination addresses; returns 0 or a negated errno.
int datagrams_report_destination(int fd, int is_ipv6);

/// Disables fragmentation and path MTU discovery, against forged messages (RFC 9715 §3.1).
///
/// Returns 0 or a negated errno.
int datagrams_never_fragment(int fd, int is_ipv6);

/// Sets both buffer sizes, above the system limit if permitted; returns the receive buffer size.
int datagrams_raise_buffers(int fd, int octets);

/// Closes the socket; its descriptor then refers to /dev/null. Returns 0 or a negated errno.
int datagrams_replace_with_null(int fd);

int datagrams_are_unread(int fd);

/// Returns the number of processors that this process may use, at least 1.
int processors_allowed(void);

enum { DATAGRAM_CONTROL_OCTETS = 64 };
