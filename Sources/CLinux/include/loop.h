// SPDX-License-Identifier: Apache-2.0
//
// System calls for the service loop and its sockets. Unless stated otherwise, functions return -1
// and set errno on failure.
#pragma once
#include <stdint.h>

/// Creates a non-blocking event counter: eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK).
int linux_eventfd(void);

/// Adds one to an event counter, which becomes readable (a new edge each time).
int linux_eventfd_signal(int fd);

/// Accepts a connection without blocking: accept4(SOCK_CLOEXEC | SOCK_NONBLOCK).
int linux_accept(int fd);

/// Sets the name of the calling thread, at most 15 octets.
int linux_name_thread(const char *name);

/// Unblocks, in the calling thread, the signal of `linux_join_interrupting`.
int linux_allow_interrupts(void);

/// Joins a thread, given its pthread_t. Until it ends, interrupts its blocking system calls, so
/// that the thread checks its stop flag. Returns 0 or an error number.
int linux_join_interrupting(unsigned long thread);

/// Forbids access to this process by others of the same user, core dumps, and new privileges:
/// PR_SET_DUMPABLE 0, RLIMIT_CORE 0, PR_SET_NO_NEW_PRIVS.
int linux_close_process(void);

/// Drops all capabilities but CAP_NET_BIND_SERVICE, for the calling thread and the threads it
/// starts later. Ambient capabilities are dropped with the permitted ones: capset(2).
int linux_drop_capabilities(void);

/// Sets the mode and, unless it is (gid_t)-1, the group of the socket file at a path that this
/// process has just bound. Does not follow a link, and refuses a file that this process has not
/// made, because the owner of the directory may have replaced it. Returns 0, or -1 with errno set.
int linux_set_socket_file(const char *path, uint32_t mode, uint32_t group);

/// Returns the credentials of the peer of a Unix stream socket: SO_PEERCRED.
int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
