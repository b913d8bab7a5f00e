// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int linux_eventfd_signal(int fd) {
    const uint64_t one = 1;
    return write(fd, &one, sizeof one) == sizeof one ? 0 : -1;
}

int linux_close_process(void) {
    // A service manager's filter may forbid to set what it has set already.
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

int linux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int linux_name_thread(const char *name) {
    const int error = pthread_setname_np(pthread_self(), name);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

/// Does nothing: that it was called ends a system call with EINTR.
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
    // A signal that is ignored without a handler, so one that comes late or astray does nothing.
    const struct sigaction action = {.sa_handler = interrupted};
    if (sigaction(SIGURG, &action, NULL) != 0)
        return errno;
    for (;;) {
        pthread_kill((pthread_t)thread, SIGURG);
        const int error = pthread_tryjoin_np((pthread_t)thread, NULL);
        if (error != EBUSY)
            return error;
        // It may be about to make the system call that was to be interrupted: hence again, and
        // meanwhile it has the processor.
        poll(NULL, 0, 1);
    }
}

int linux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred who = {0};
    socklen_t length = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
        return -1;
    *pid = who.pid;
    *uid = who.uid;
    *gid = who.gid;
    return 0;
}
