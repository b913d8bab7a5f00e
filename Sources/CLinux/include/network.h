// SPDX-License-Identifier: Apache-2.0
//
// How the kernel tells of the network and of clocks: rtnetlink(7), timerfd_create(2).
//
// Every function returns what the call it is named after returns: -1 and errno on failure.
#pragma once
#include <stdint.h>

/// What rtnetlink messages are made of; network.c asserts that these are the kernel's numbers.
enum {
    ROUTE_NEW_LINK = 16,
    ROUTE_DELETED_LINK = 17,
    ROUTE_GET_LINK = 18,
    ROUTE_NEW_ADDRESS = 20,
    ROUTE_DELETED_ADDRESS = 21,
    ROUTE_GET_ADDRESS = 22,
    ROUTE_NEW_ROUTE = 24,
    ROUTE_DELETED_ROUTE = 25,
    ROUTE_GET_ROUTE = 26,
    ROUTE_ERROR = 2,
    ROUTE_DONE = 3,
    ROUTE_OVERRUN = 4,

    ROUTE_FLAG_REQUEST = 1,
    ROUTE_FLAG_DUMP = 0x300,

    ROUTE_LINK_NAME = 3,
    ROUTE_LINK_INFO = 18,
    ROUTE_LINK_KIND = 1,
    ROUTE_LINK_RUNNING = 0x40,

    ROUTE_ADDRESS_ADDRESS = 1,
    ROUTE_ADDRESS_LOCAL = 2,
    ROUTE_ADDRESS_FLAGS = 8,
    ROUTE_ADDRESS_OPTIMISTIC = 0x04,
    ROUTE_ADDRESS_DUPLICATE = 0x08,
    ROUTE_ADDRESS_TENTATIVE = 0x40,
    ROUTE_SCOPE_LINK = 253,

    ROUTE_ROUTE_INTERFACE = 4,
    ROUTE_ROUTE_GATEWAY = 5,
    ROUTE_ROUTE_PRIORITY = 6,
    ROUTE_ROUTE_SOURCE = 7,
    ROUTE_ROUTE_MULTIPATH = 9,
    ROUTE_ROUTE_TABLE = 15,
    ROUTE_ROUTE_VIA = 18,
    ROUTE_TABLE_MAIN = 254,
    ROUTE_TYPE_UNICAST = 1,
    ROUTE_FLAG_CLONED = 0x200
};

/// A socket on which the kernel tells of links, addresses and default routes.
///
/// Other routes are left out in the kernel: a router may have a million of them.
int linux_route_events(void);

/// A socket to ask the kernel what there is.
int linux_route_requests(void);

/// A timer that never expires, but becomes readable whenever the wall clock is set or the machine
/// resumes from sleep; a read then fails with ECANCELED and waits for the next time.
int linux_clock_changes(void);

/// Whether something such as NTP keeps the wall clock right: 1, 0, or -1 if the kernel does not say.
int linux_clock_is_synchronised(void);
