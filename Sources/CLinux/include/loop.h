// SPDX-License-Identifier: Apache-2.0
//
// System calls for the service loop. By default, functions return -1 and set errno on failure.
#pragma once
#include <stdint.h>

/// eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK).
int linux_eventfd(void);

/// Adds one; the counter becomes readable (a new edge each time).
int linux_eventfd_signal(int fd);

/// accept4(SOCK_CLOEXEC | SOCK_NONBLOCK).
int linux_accept(int fd);

/// At most 15 octets.
int linux_name_thread(const char *name);

/// Unblocks the signal of `linux_join_interrupting` in the calling thread.
int linux_allow_interrupts(void);

/// Joins a pthread_t, and interrupts its blocking system calls. Returns 0 or an error number.
int linux_join_interrupting(unsigned long thread);

/// Forbids access by other processes of the user, core dumps, and new privileges: PR_SET_DUMPABLE 0,
/// RLIMIT_CORE 0, PR_SET_NO_NEW_PRIVS.
int linux_close_process(void);

/// Drops all capabilities but CAP_NET_BIND_SERVICE, also for later threads: capset(2).
int linux_drop_capabilities(void);

/// Sets the mode and, unless it is (gid_t)-1, the group of the socket file at a path that this
/// process has just bound. Does not follow a link, and refuses a file that this process has not
/// made, because the owner of the directory may have replaced it. Returns 0, or -1 with errno set.
int linux_set_socket_file(const char *path, uint32_t mode, uint32_t group);

/// Returns the credentials of the peer of a Unix stream socket: SO_PEERCRED.
int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);
