// SPDX-License-Identifier: Apache-2.0
//
// Many datagrams a system call: recvmmsg(2), sendmmsg(2).
//
// No system header here: what this module includes would become this module's own, and hide from
// Swift what its Glibc module shows.
#pragma once
#include <stddef.h>

/// A twin of `struct mmsghdr`, which <sys/socket.h> shows only under _GNU_SOURCE; datagrams.c
/// asserts that the two are laid out alike.
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

/// Receives 1 to `count` datagrams, waiting for the first one only.
///
/// `flags` as for recvmmsg(2).  Returns how many there were, or a negated errno.
int datagrams_receive(int fd, struct datagram_header *headers, unsigned int count, int flags);

/// Sends `count` datagrams.  Returns how many were sent, or a negated errno if none was.
int datagrams_send(int fd, struct datagram_header *headers, unsigned int count);

/// Makes the socket report, and so lets a reply keep, the address that a datagram was sent to.
/// Returns 0 or a negated errno.
int datagrams_report_destination(int fd, int is_ipv6);

/// Keeps the kernel from fragmenting replies and from believing forged "too big" messages
/// (RFC 9715 §3.1).  Returns 0 or a negated errno.
int datagrams_never_fragment(int fd, int is_ipv6);

/// Sets the receive and send buffers, beyond the system's limit where we may.  Returns the receive
/// buffer's size in octets as the kernel counts it.
int datagrams_raise_buffers(int fd, int octets);

/// The processors this process may run on, at least 1.
int processors_allowed(void);

/// Octets of control data that hold one packet-info message of either family.
enum { DATAGRAM_CONTROL_OCTETS = 64 };
