// SPDX-License-Identifier: Apache-2.0
//
// Measures the time from exec of a server to its first answer over UDP.
//
//   first PORT NAME RUNS PROGRAM [ARGUMENT ...]
//
// Queries NAME every 100 us, or when the kernel reports a closed port, until there is an answer.
// The output is JSON in milliseconds; null means no answer within 20 s.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { patience_ms = 20000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static size_t query(const char *name, uint8_t *octets) {
    memset(octets, 0, 12);
    octets[0] = 0x12, octets[1] = 0x34, octets[2] = 1, octets[5] = 1;
    uint8_t *end = octets + 12;
    for (const char *label = name; *label;) {
        const size_t length = strcspn(label, ".");
        *end++ = (uint8_t)length;
        memcpy(end, label, length);
        end += length;
        label += length + (label[length] == '.');
    }
    memcpy(end, "\0\0\1\0\1", 5); // root, A, IN
    return (size_t)(end + 5 - octets);
}

static void end(pid_t child, const sigset_t *ended) {
    const struct timespec patience = {5, 0}, none = {0, 0};
    kill(child, SIGTERM);
    if (sigtimedwait(ended, NULL, &patience) < 0)
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    sigtimedwait(ended, NULL, &none); // discard the signal of the killed server
}

static double run(int port, const uint8_t *asked, size_t length, char **command) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0)
        exit(1);
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    const double start = now();
    const pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_UNBLOCK, &ended, NULL);
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0), dup2(nothing, 1), dup2(nothing, 2);
        execvp(command[0], command);
        _exit(127);
    }
    double took = -1;
    while (now() - start < patience_ms) {
        uint8_t octets[2048];
        struct pollfd event = {client, POLLIN, 0};
        const struct timespec patience = {0, 100000};
        send(client, asked, length, 0);
        ppoll(&event, 1, &patience, NULL);
        const ssize_t count = recv(client, octets, sizeof octets, 0);
        if (count > 12 && !(octets[3] & 15) && octets[7]) {
            took = now() - start;
            break;
        }
    }
    close(client);
    end(child, &ended);
    return took;
}

int main(int argc, char **argv) {
    if (argc < 5 || strlen(argv[2]) > 200)
        return 2;
    uint8_t asked[300];
    const size_t length = query(argv[2], asked);
    for (int number = 0, runs = atoi(argv[3]); number < runs; number++) {
        const double took = run(atoi(argv[1]), asked, length, argv + 4);
        printf(number ? ", " : "{\"times\": [");
        took < 0 ? printf("null") : printf("%.3f", took);
    }
    printf("]}\n");
    return 0;
}
