// SPDX-License-Identifier: Apache-2.0
//
// Sends DNS queries over UDP for new names, and records each result.
//
//   misses -s ADDR -p PORT -n COUNT (-c OUTSTANDING | -r PER_SECOND) [-x SUFFIX] [-k PREFIX]
//          [-t SECONDS] [-o FILE]
//
// -c keeps a number of queries in flight. -r sends at a rate independent of the replies, and times
// queries from their due times. Names are PREFIX, a number and SUFFIX. A query is lost after
// SECONDS. FILE gets a line per query: due time and duration in us, RCODE (-1: lost), and the last
// octet of the first address. Totals are printed in JSON.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ids = 1 << 16, header = 12, nothing = -1 };

typedef struct {
    int64_t due, took; // ns
    int rcode, octet;
} Question;

static const char *suffix = ".example.com", *prefix = "name";
static Question *questions;
static long count = 10000;
static long open_[ids]; // the query that waits for an ID, or none

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static size_t query(long number, uint8_t *octets) {
    char name[256];
    snprintf(name, sizeof name, "%s%ld%s", prefix, number, suffix);
    memset(octets, 0, header);
    octets[0] = (uint8_t)(number >> 8), octets[1] = (uint8_t)number;
    octets[2] = 1, octets[5] = 1; // RD, one question
    uint8_t *end = octets + header;
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

static int take(const uint8_t *octets, ssize_t length, int64_t time) {
    if (length < header || !(octets[2] & 0x80))
        return 0;
    const int id = octets[0] << 8 | octets[1];
    const long number = open_[id];
    if (number == nothing)
        return 0;
    uint8_t asked[512];
    const size_t end = query(number, asked);
    if ((size_t)length < end || memcmp(octets + header, asked + header, end - header) != 0)
        return 0;
    Question *question = &questions[number];
    question->took = time - question->due;
    question->rcode = octets[3] & 15;
    const uint8_t *record = octets + end;
    const int answers = octets[6] << 8 | octets[7];
    if (answers > 0 && (size_t)length >= end + 16 && record[0] >= 0xC0 && record[3] == 1)
        question->octet = record[15];
    open_[id] = nothing;
    return 1;
}

static int by_time(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const char *server = "127.0.0.1", *file = NULL;
    int port = 53, option;
    long outstanding = 200;
    double rate = 0, seconds = 6;
    while ((option = getopt(argc, argv, "s:p:n:c:r:x:k:t:o:")) != -1)
        switch (option) {
        case 's': server = optarg; break;
        case 'p': port = atoi(optarg); break;
        case 'n': count = atol(optarg); break;
        case 'c': outstanding = atol(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 'x': suffix = optarg; break;
        case 'k': prefix = optarg; break;
        case 't': seconds = atof(optarg); break;
        case 'o': file = optarg; break;
        default: return 2;
        }
    if (rate > 0 || outstanding >= ids / 2)
        outstanding = ids / 2;
    const int64_t patience = (int64_t)(seconds * 1e9);
    questions = calloc((size_t)count, sizeof *questions);
    for (int id = 0; id < ids; id++)
        open_[id] = nothing;

    const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const int room = 4 << 20;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, server, &address.sin_addr) != 1)
        return 2;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");

    const int64_t start = now();
    long sent = 0, oldest = 0, waiting = 0, answered = 0;
    while (oldest < count) {
        int64_t time = now();
        while (sent < count && waiting < outstanding && sent - oldest < ids) {
            const int64_t due = rate > 0 ? start + (int64_t)((double)sent * 1e9 / rate) : time;
            if (due > time)
                break;
            uint8_t octets[512];
            if (send(descriptor, octets, query(sent, octets), 0) < 0) {
                if (errno != EAGAIN && errno != ENOBUFS)
                    fail("send");
                break;
            }
            questions[sent] = (Question){.due = due, .rcode = nothing, .octet = nothing};
            open_[sent & (ids - 1)] = sent;
            sent++, waiting++;
        }
        while (oldest < sent) {
            const Question *question = &questions[oldest];
            if (open_[oldest & (ids - 1)] == oldest) {
                if (time - question->due < patience)
                    break;
                open_[oldest & (ids - 1)] = nothing;
                waiting--;
            }
            oldest++;
        }
        int64_t until = oldest < sent ? questions[oldest].due + patience : time + patience;
        if (rate > 0 && sent < count) {
            const int64_t due = start + (int64_t)((double)sent * 1e9 / rate);
            until = due < until ? due : until;
        }
        if (oldest >= count)
            break;
        const int64_t left = until > time ? until - time : 0;
        const struct timespec wait = {left / 1000000000, left % 1000000000};
        struct pollfd event = {descriptor, POLLIN, 0};
        if (ppoll(&event, 1, &wait, NULL) < 0 && errno != EINTR)
            fail("ppoll");
        uint8_t octets[4096];
        ssize_t length;
        while ((length = recv(descriptor, octets, sizeof octets, 0)) >= 0)
            if (take(octets, length, now()))
                waiting--, answered++;
        if (errno != EAGAIN && errno != ECONNREFUSED)
            fail("recv");
    }
    const double elapsed = (double)(now() - start) / 1e9;

    FILE *list = file ? fopen(file, "w") : NULL;
    if (file && !list)
        fail(file);
    int64_t *times = calloc((size_t)count + 1, sizeof *times);
    long found = 0, failed = 0, empty = 0, known = 0;
    for (long number = 0; number < count; number++) {
        const Question *question = &questions[number];
        if (list)
            fprintf(list, "%.0f %.0f %d %d\n", (double)(question->due - start) / 1e3,
                    (double)question->took / 1e3, question->rcode, question->octet);
        if (question->rcode == nothing)
            continue;
        times[known++] = question->took;
        if (question->rcode != 0)
            failed++;
        else if (question->octet == nothing)
            empty++;
        else
            found++;
    }
    if (list)
        fclose(list);
    qsort(times, (size_t)known, sizeof *times, by_time);
    const long last = known ? known - 1 : 0;
    printf("{\"asked\": %ld, \"answered\": %ld, \"found\": %ld, \"empty\": %ld, \"failed\": %ld, "
           "\"lost\": %ld, \"seconds\": %.6f, \"p50_us\": %.1f, \"p90_us\": %.1f, "
           "\"p99_us\": %.1f, \"max_us\": %.1f}\n",
           count, answered, found, empty, failed, count - known, elapsed,
           (double)times[last / 2] / 1e3, (double)times[last * 9 / 10] / 1e3,
           (double)times[last * 99 / 100] / 1e3, (double)times[last] / 1e3);
    return 0;
}
