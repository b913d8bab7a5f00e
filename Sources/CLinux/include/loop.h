// SPDX-License-Identifier: Apache-2.0
//
// By default, functions return -1 and set errno on failure.
#pragma once
#include <stdint.h>

int linux_eventfd(void);

/// Adds one to an eventfd; each call is a new edge for epoll(7).
int linux_eventfd_signal(int fd);

int linux_timerfd(void);

/// Arms a timerfd for an instant of CLOCK_BOOTTIME, possibly in the past.
///
/// Each expiry is a new edge for epoll(7).
int linux_timerfd_set(int fd, uint64_t microseconds);

int linux_accept(int fd);

/// Returns 1 if the kernel has repeated a segment of a TCP socket, and the peer has acknowledged
/// nothing for about `milliseconds`; otherwise 0.
int linux_is_unacknowledged(int fd, uint32_t milliseconds);

/// Opens a descriptor for `count` signals, which all threads must block (signalfd(2)).
int linux_signalfd(const int *signals, int count);

/// Returns -1 if no signal is pending.
int linux_signalfd_next(int fd);

/// Names the calling thread; `name` has at most 15 octets.
int linux_name_thread(const char *name);

int linux_allow_interrupts(void);

/// Interrupts and joins a thread (pthread_t); returns 0 or an error number.
int linux_join_interrupting(unsigned long thread);

/// Forbids core dumps, new privileges, and access by other processes of the user.
int linux_close_process(void);

/// Opens /dev/null for each closed standard descriptor; `access` is O_RDWR or O_RDONLY.
int linux_open_standard_descriptors(int access);

/// Keeps only CAP_NET_BIND_SERVICE in the calling thread and its later threads (capset(2)).
int linux_drop_capabilities(void);

/// Sets the mode and group ((gid_t)-1 for no change) of a socket file that this process has bound.
///
/// Fails for a symbolic link or another file, which the owner of the directory may have created.
/// Returns 0, -2 if the group cannot be changed, or -1 for all other errors.
int linux_set_socket_file(const char *path, uint32_t mode, uint32_t group);

int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);

void linux_return_free_memory(void);
