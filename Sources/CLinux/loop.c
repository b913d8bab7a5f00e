// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_eventfd_signal(int fd) {
    const uint64_t one = 1;
    return write(fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

int linux_timerfd(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int linux_timerfd_set(int fd, uint64_t microseconds) {
    const uint64_t second = 1000000;
    struct itimerspec value = {0};
    value.it_value.tv_sec = (time_t)(microseconds / second);
    value.it_value.tv_nsec = (long)(microseconds % second * 1000);
    // Zero would disarm the timer.
    if (microseconds == 0)
        value.it_value.tv_nsec = 1;
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &value, NULL);
}

int linux_signalfd(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int index = 0; index < count; index++)
        sigaddset(&set, signals[index]);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int linux_signalfd_next(int fd) {
    struct signalfd_siginfo information;
    const ssize_t octets = read(fd, &information, sizeof information);
    return octets == sizeof information ? (int)information.ssi_signo : -1;
}

void linux_return_free_memory(void) { malloc_trim(0); }

int linux_open_standard_descriptors(int access) {
    for (;;) {
        const int fd = open("/dev/null", access | O_CLOEXEC);
        if (fd < 0)
            return -1;
        if (fd > STDERR_FILENO)
            return close(fd);
    }
}

int linux_close_process(void) {
    // A seccomp filter may forbid setrlimit.
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) != 0)
        return -1;
    core.rlim_cur = 0;
    if (core.rlim_max != 0) {
        core.rlim_max = 0;
        if (setrlimit(RLIMIT_CORE, &core) != 0)
            return -1;
    }
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static uint32_t kept(int index) {
    return index == CAP_TO_INDEX(CAP_NET_BIND_SERVICE) ? CAP_TO_MASK(CAP_NET_BIND_SERVICE) : 0;
}

int linux_drop_capabilities(void) {
    // Harmless on failure: the bounding set limits only child processes.
    for (int number = 0, held; (held = prctl(PR_CAPBSET_READ, number, 0, 0, 0)) >= 0; number++)
        if (held && number != CAP_NET_BIND_SERVICE)
            prctl(PR_CAPBSET_DROP, number, 0, 0, 0);

    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, words) != 0)
        return -1;
    uint32_t excess = 0;
    for (int index = 0; index < _LINUX_CAPABILITY_U32S_3; index++) {
        excess |= (words[index].permitted | words[index].inheritable) & ~kept(index);
        words[index].effective &= kept(index);
        words[index].permitted &= kept(index);
        words[index].inheritable &= kept(index);
    }
    // A seccomp filter may forbid capset.
    return excess == 0 ? 0 : (int)syscall(SYS_capset, &header, words);
}

int linux_is_unacknowledged(int fd, uint32_t milliseconds) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    // The kernel measures times in jiffies, so an earlier acknowledgement can seem later.
    const uint32_t error = 20;
    return info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 &&
           info.tcpi_last_ack_recv + error >= milliseconds;
}

int linux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int linux_name_thread(const char *name) {
    const int error = pthread_setname_np(pthread_self(), name);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static void interrupted(int signal) { (void)signal; }

int linux_allow_interrupts(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    const int error = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

int linux_join_interrupting(unsigned long thread) {
    _Static_assert(sizeof(pthread_t) == sizeof thread, "a thread's number");
    // A late signal is harmless: the default action ignores SIGURG.
    const struct sigaction action = {.sa_handler = interrupted};
    if (sigaction(SIGURG, &action, NULL) != 0)
        return errno;
    for (;;) {
        pthread_kill((pthread_t)thread, SIGURG);
        const int error = pthread_tryjoin_np((pthread_t)thread, NULL);
        if (error != EBUSY)
            return error;
        // The thread may have been about to enter a system call.
        poll(NULL, 0, 1);
    }
}

int linux_set_socket_file(const char *path, uint32_t mode, uint32_t group) {
    char link[sizeof "/proc/self/fd/-2147483648"];
    struct stat status;
    /* All steps use this descriptor, because another process can replace the file at the path. */
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = fstat(fd, &status);
    if (result == 0 &&
        (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1)) {
        errno = EPERM;
        result = -1;
    }
    /* Changes the group only if necessary: the system call filter of the unit may forbid chown(2). */
    if (result == 0 && group != (uint32_t)-1 && status.st_gid != group)
        result = fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) == 0 ? 0 : -2;
    if (result == 0) {
        /* fchmod(2) rejects an O_PATH descriptor, and older kernels lack fchmodat2(2). */
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        result = chmod(link, mode);
    }
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}
