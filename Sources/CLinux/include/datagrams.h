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

/// Receives 1 to `count` datagrams; blocks only until the first one arrives.
///
/// Returns the number of datagrams, or a negated errno.
int datagrams_receive(int fd, struct datagram_header *headers, unsigned int count, int flags);

/// Sends up to `count` datagrams; returns the number of sent ones, or a negated errno if none was
/// sent.
int datagrams_send(int fd, struct datagram_header *headers, unsigned int count);

/// Makes the kernel report the destination address of each datagram.
///
/// Returns 0 or a negated errno.
int datagrams_report_destination(int fd, int is_ipv6);

/// Disables fragmentation and path MTU discovery: forged "too big" messages then have no effect
/// (RFC 9715 §3.1).
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

/// Returns 1 if the receive buffer has a datagram, 0 otherwise.
int datagrams_are_unread(int fd);

/// Returns the number of processors that this process may use, at least 1.
int processors_allowed(void);

/// Octets of the control buffer, which fits one packet-info message of either family.
enum { DATAGRAM_CONTROL_OCTETS = 64 };
