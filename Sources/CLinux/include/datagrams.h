// SPDX-License-Identifier: Apache-2.0
//
// recvmmsg(2), sendmmsg(2).
//
// Includes no system header, which would hide declarations of Swift's Glibc.
#pragma once
#include <stddef.h>

/// `struct mmsghdr`, which <sys/socket.h> declares only with _GNU_SOURCE.
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

/// Receives 1 to `count` datagrams; blocks only for the first.
///
/// Returns their number, or a negated errno.
int datagrams_receive(int fd, struct datagram_header *headers, unsigned int count, int flags);

/// Returns the number of sent datagrams, or a negated errno for none.
int datagrams_send(int fd, struct datagram_header *headers, unsigned int count);

/// Reports the destination address.
///
/// Returns 0 or a negated errno.
int datagrams_report_destination(int fd, int is_ipv6);

/// Disables fragmentation and path MTU discovery: forged "too big" messages have no effect (RFC
/// 9715 §3.1).
///
/// Returns 0 or a negated errno.
int datagrams_never_fragment(int fd, int is_ipv6);

/// Sets the buffer sizes, beyond the system limit if permitted.
///
/// Returns the receive buffer size as the kernel counts it.
int datagrams_raise_buffers(int fd, int octets);

/// Closes the socket; its descriptor then refers to /dev/null.
///
/// Returns 0 or a negated errno; after an error the socket is still open.
int datagrams_replace_with_null(int fd);

/// Returns 1 if a datagram is in the buffer, 0 otherwise.
int datagrams_are_unread(int fd);

/// At least 1.
int processors_allowed(void);

/// Fits one packet-info message of either family.
enum { DATAGRAM_CONTROL_OCTETS = 64 };
