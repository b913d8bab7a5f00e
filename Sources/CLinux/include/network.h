// SPDX-License-Identifier: Apache-2.0
//
// Functions return -1 and set errno on failure.
#pragma once
#include <stdint.h>

/// Kernel constants, checked in network.c.
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
    ROUTE_ROUTER_OPTION = 68,
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

/// Opens a socket for events of interfaces, addresses and default routes.
int linux_route_events(void);

int linux_route_requests(void);

/// Opens a socket for router advertisement options that the kernel leaves to programs.
int linux_router_options(void);

/// Opens a descriptor that is readable after a change or a resume; read(2) fails with ECANCELED.
int linux_clock_changes(void);

/// Returns 1, 0, or -1 if unknown.
int linux_clock_is_synchronised(void);
