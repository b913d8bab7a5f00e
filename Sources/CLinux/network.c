// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

#define SAME(ours, kernels) _Static_assert(ours == (int)kernels, #ours)
SAME(ROUTE_NEW_LINK, RTM_NEWLINK);
SAME(ROUTE_DELETED_LINK, RTM_DELLINK);
SAME(ROUTE_GET_LINK, RTM_GETLINK);
SAME(ROUTE_NEW_ADDRESS, RTM_NEWADDR);
SAME(ROUTE_DELETED_ADDRESS, RTM_DELADDR);
SAME(ROUTE_GET_ADDRESS, RTM_GETADDR);
SAME(ROUTE_NEW_ROUTE, RTM_NEWROUTE);
SAME(ROUTE_DELETED_ROUTE, RTM_DELROUTE);
SAME(ROUTE_GET_ROUTE, RTM_GETROUTE);
SAME(ROUTE_ERROR, NLMSG_ERROR);
SAME(ROUTE_DONE, NLMSG_DONE);
SAME(ROUTE_OVERRUN, NLMSG_OVERRUN);
SAME(ROUTE_FLAG_REQUEST, NLM_F_REQUEST);
SAME(ROUTE_FLAG_DUMP, NLM_F_DUMP);
SAME(ROUTE_LINK_NAME, IFLA_IFNAME);
SAME(ROUTE_LINK_INFO, IFLA_LINKINFO);
SAME(ROUTE_LINK_KIND, IFLA_INFO_KIND);
SAME(ROUTE_LINK_RUNNING, IFF_RUNNING);
SAME(ROUTE_ADDRESS_ADDRESS, IFA_ADDRESS);
SAME(ROUTE_ADDRESS_LOCAL, IFA_LOCAL);
SAME(ROUTE_ADDRESS_FLAGS, IFA_FLAGS);
SAME(ROUTE_ADDRESS_OPTIMISTIC, IFA_F_OPTIMISTIC);
SAME(ROUTE_ROUTER_OPTION, RTM_NEWNDUSEROPT);
SAME(ROUTE_ADDRESS_DUPLICATE, IFA_F_DADFAILED);
SAME(ROUTE_ADDRESS_TENTATIVE, IFA_F_TENTATIVE);
SAME(ROUTE_SCOPE_LINK, RT_SCOPE_LINK);
SAME(ROUTE_ROUTE_INTERFACE, RTA_OIF);
SAME(ROUTE_ROUTE_GATEWAY, RTA_GATEWAY);
SAME(ROUTE_ROUTE_PRIORITY, RTA_PRIORITY);
SAME(ROUTE_ROUTE_SOURCE, RTA_PREFSRC);
SAME(ROUTE_ROUTE_MULTIPATH, RTA_MULTIPATH);
SAME(ROUTE_ROUTE_TABLE, RTA_TABLE);
SAME(ROUTE_ROUTE_VIA, RTA_VIA);
SAME(ROUTE_TABLE_MAIN, RT_TABLE_MAIN);
SAME(ROUTE_TYPE_UNICAST, RTN_UNICAST);
SAME(ROUTE_FLAG_CLONED, RTM_F_CLONED);

static int route_socket(unsigned int groups, const struct sock_fprog *filter) {
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        return -1;
    // `bind` starts the notifications.
    if (filter && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof *filter) != 0)
        goto failed;
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        goto failed;
    return fd;
failed:;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int linux_route_events(void) {
    // The filter reads big-endian numbers, but netlink uses host byte order.
    const unsigned int type = offsetof(struct nlmsghdr, nlmsg_type);
    const unsigned int length = NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_dst_len);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, type),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, length),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    return route_socket(
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
        &filter);
}

int linux_router_options(void) { return route_socket(1U << (RTNLGRP_ND_USEROPT - 1), NULL); }

int linux_route_requests(void) {
    const int fd = route_socket(0, NULL);
    // Kernels before 4.20 dump all tables.
    const int on = 1;
    if (fd >= 0)
        (void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
    return fd;
}

int linux_clock_changes(void) {
    const int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return -1;
    // A distant time that every kernel accepts; systemd also uses it.
    const struct itimerspec never = {.it_value.tv_sec = (sizeof(time_t) > 4) ? INT64_C(8640000000000) : INT32_MAX};
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int linux_clock_is_synchronised(void) {
    struct timex state = {.modes = 0};
    const int answer = adjtimex(&state);
    return answer < 0 ? -1 : answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}
