// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "datagrams.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAME_PLACE(ours, theirs)                                                       \
    _Static_assert(                                                                    \
        offsetof(struct datagram_header, ours) == offsetof(struct mmsghdr, theirs), #ours)
_Static_assert(sizeof(struct datagram_header) == sizeof(struct mmsghdr), "same size");
SAME_PLACE(name, msg_hdr.msg_name);
SAME_PLACE(name_octets, msg_hdr.msg_namelen);
SAME_PLACE(vectors, msg_hdr.msg_iov);
SAME_PLACE(vector_count, msg_hdr.msg_iovlen);
SAME_PLACE(control, msg_hdr.msg_control);
SAME_PLACE(control_octets, msg_hdr.msg_controllen);
SAME_PLACE(flags, msg_hdr.msg_flags);
SAME_PLACE(octets, msg_len);
_Static_assert(
    CMSG_SPACE(sizeof(struct in6_pktinfo)) <= DATAGRAM_CONTROL_OCTETS, "control data fits");

int datagrams_receive(int fd, struct datagram_header *headers, unsigned int count, int flags) {
    int received =
        recvmmsg(fd, (struct mmsghdr *)headers, count, flags | MSG_WAITFORONE | MSG_CMSG_CLOEXEC, NULL);
    return received < 0 ? -errno : received;
}

int datagrams_send(int fd, struct datagram_header *headers, unsigned int count) {
    // Replies to absent hosts can fill the send buffer for seconds.
    int sent = sendmmsg(fd, (struct mmsghdr *)headers, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? -errno : sent;
}

int datagrams_report_destination(int fd, int is_ipv6) {
    int on = 1;
    int failed = is_ipv6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on)
                         : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    return failed ? -errno : 0;
}

int datagrams_never_fragment(int fd, int is_ipv6) {
    int omit = is_ipv6 ? IPV6_PMTUDISC_OMIT : IP_PMTUDISC_OMIT;
    int failed = is_ipv6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &omit, sizeof omit)
                         : setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &omit, sizeof omit);
    return failed ? -errno : 0;
}

int datagrams_raise_buffers(int fd, int octets) {
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &octets, sizeof octets) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &octets, sizeof octets);
    int size = 0;
    socklen_t length = sizeof size;
    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length);
    return size;
}

int datagrams_replace_with_null(int fd) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return -errno;
    int result = dup3(null, fd, O_CLOEXEC) < 0 ? -errno : 0;
    close(null);
    return result;
}

int processors_allowed(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

int datagrams_are_unread(int fd) {
    struct pollfd socket = {.fd = fd, .events = POLLIN};
    return poll(&socket, 1, 0) == 1 && (socket.revents & POLLIN) != 0;
}
