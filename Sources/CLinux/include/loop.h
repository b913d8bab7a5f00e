// SPDX-License-Identifier: Apache-2.0
//
// For the service loop and its sockets.  Every function returns what the call it is named after
// returns: -1 and errno on failure.
#pragma once
#include <stdint.h>

/// A new event counter that does not block: eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK).
int linux_eventfd(void);

/// Adds one to an event counter, which makes it readable (a new edge each time).
int linux_eventfd_signal(int fd);

/// The next connection of a listener, without blocking: accept4(SOCK_CLOEXEC | SOCK_NONBLOCK).
int linux_accept(int fd);

/// Names the calling thread, at most 15 octets.
int linux_name_thread(const char *name);

/// Lets the calling thread be interrupted by the next function, whatever its creator has blocked.
int linux_allow_interrupts(void);

/// Waits for the end of a thread, by its pthread_t, and meanwhile interrupts every system call in
/// which it waits, so that it sees what it was told.  Returns 0 or an error number.
int linux_join_interrupting(unsigned long thread);

/// Lets no other process look into this one, its memory never be written to a file, and no program
/// that it starts have more privileges: PR_SET_DUMPABLE 0, RLIMIT_CORE 0, PR_SET_NO_NEW_PRIVS.
int linux_close_process(void);

/// Gives up all capabilities but CAP_NET_BIND_SERVICE, of the calling thread and those it starts from
/// now on.  Ambient ones go with those that are permitted: capset(2).
int linux_drop_capabilities(void);

/// Who is at the other end of a Unix stream socket: SO_PEERCRED.
int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
