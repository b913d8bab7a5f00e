// SPDX-License-Identifier: Apache-2.0
//
// Changes the clocks of the program into which this library is preloaded (LD_PRELOAD).
//
// The file CLOCKS has the offsets of CLOCK_REALTIME, CLOCK_MONOTONIC and CLOCK_BOOTTIME as 64-bit
// numbers in ns. An octet in the FIFO CLOCKS.set reports that the wall clock was set; the kernel
// would report this by cancelling a timer. For a suspend, change only the first and the third
// offset.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t none[3];
static const volatile int64_t *offsets = none;
static char fifo[PATH_MAX];
static int fifo_descriptor = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCKS");
    if (!path)
        return;
    snprintf(fifo, sizeof fifo, "%s.set", path);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        perror(path);
        _exit(1);
    }
    close(file);
    offsets = mapped;
}

static int64_t offset(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return offsets[0];
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE: return offsets[1];
    case CLOCK_BOOTTIME: return offsets[2];
    default: return 0;
    }
}

static struct timespec moved(struct timespec time, int64_t by) {
    const int64_t second = 1000000000, sum = time.tv_nsec + by % second;
    time.tv_sec += by / second + (sum >= second) - (sum < 0);
    time.tv_nsec = (sum + second) % second;
    return time;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real ? real(clock, time) : (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0)
        *time = moved(*time, offset(clock));
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

int timerfd_create(int clock, int flags) {
    if (clock == CLOCK_REALTIME && fifo[0])
        return fifo_descriptor = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return (int)syscall(SYS_timerfd_create, clock, flags);
}

int timerfd_settime(int timer, int flags, const struct itimerspec *value, struct itimerspec *old) {
    if (timer == fifo_descriptor)
        return 0;
    struct itimerspec real = *value;
    // The daemon and sd-event use only absolute timers of CLOCK_BOOTTIME.
    if (flags & TFD_TIMER_ABSTIME && (real.it_value.tv_sec || real.it_value.tv_nsec)) {
        real.it_value = moved(real.it_value, -offsets[2]);
        if (real.it_value.tv_sec < 0)
            real.it_value = (struct timespec){0, 1};
    }
    return (int)syscall(SYS_timerfd_settime, timer, flags, &real, old);
}
