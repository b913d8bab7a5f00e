// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct recorder {
    size_t noted;

    struct {
        uint16_t octets;
        uint8_t shown;
        char text[RECORDER_OCTETS + 1];
    } lines[RECORDER_LINES];
};

struct recorder *recorder_new(void) { return calloc(1, sizeof(struct recorder)); }

static const struct recorder *black_box;

void recorder_free(struct recorder *recorder) {
    if (recorder != black_box)
        free(recorder);
}

void recorder_note(struct recorder *recorder, const void *text, size_t octets, int shown) {
    const size_t place = recorder->noted % RECORDER_LINES;
    size_t kept = octets < RECORDER_OCTETS ? octets : RECORDER_OCTETS;
    // Cuts at the start of a UTF-8 character (continuation octets are 10xxxxxx).
    while (kept < octets && kept > 0 && (((const uint8_t *)text)[kept] & 0xC0) == 0x80)
        kept--;
    // A crash can interrupt this function, so the line is empty while it is overwritten.
    recorder->lines[place].octets = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memcpy(recorder->lines[place].text, text, kept);
    recorder->lines[place].text[kept] = '\n';
    recorder->lines[place].shown = shown != 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    recorder->lines[place].octets = (uint16_t)kept;
    recorder->noted++;
}

size_t recorder_count(const struct recorder *recorder) {
    return recorder->noted < RECORDER_LINES ? recorder->noted : RECORDER_LINES;
}

size_t recorder_line(const struct recorder *recorder, size_t number, const char **text, int *shown) {
    const size_t first = recorder->noted - recorder_count(recorder);
    const size_t place = (first + number) % RECORDER_LINES;
    *text = recorder->lines[place].text;
    *shown = recorder->lines[place].shown;
    return recorder->lines[place].octets;
}

static struct sigaction actions[NSIG];

// Maximum time until the end of a process that crashed.
static const unsigned last_seconds = 2;

// SIGALRM ends the process if a write blocks.
static void limit_time(void) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(last_seconds);
}

static void put(const char *text, size_t octets) {
    if (write(STDERR_FILENO, text, octets) < 0)
        return;
}

static void crashed(int signal, siginfo_t *info, void *context) {
    (void)context;
    static char is_told;
    static const char head[] = "httpdnsd crashed; last log lines of all levels:\n";
    static const char tail[] = "httpdnsd crashed; end of the last log lines\n";
    const int error = errno;
    sigaction(signal, &actions[signal], NULL);
    if (!__atomic_test_and_set(&is_told, __ATOMIC_SEQ_CST)) {
        limit_time();
        put(head, sizeof head - 1);
        for (size_t number = 0; number < recorder_count(black_box); number++) {
            const char *text;
            int shown;
            const size_t octets = recorder_line(black_box, number, &text, &shown);
            if (octets > 0)
                put(text, octets + 1);
        }
        put(tail, sizeof tail - 1);
    }
    errno = error;
    // The process must end by the same signal. A signal from kill(2), abort(3) or a trap does not
    // occur again when the instruction runs again.
    if (info->si_code <= 0 || signal == SIGTRAP)
        raise(signal);
}

void recorder_write_at_crash(const struct recorder *recorder) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    black_box = recorder;
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++)
        sigaction(signals[index], &action, &actions[signals[index]]);
}
