// SPDX-License-Identifier: Apache-2.0
//
// Sends DNS queries over UDP at a fixed rate, and judges each reply.
//
//   storm -p PORT -s SECONDS -o FILE [-r PER_SECOND] [-n HOT] [-b BRIEF] [-c SOCKETS]
//
// 82 % of the queries are for HOT names in the cache, 4 % for BRIEF names with TTLs of seconds, 8 %
// for new names, and 6 % are garbage. A vendor answers half of the names, an upstream the other half.
// The address of name number N is 11.18.0.0 + N from the vendor, and 11.19.0.0 + N from the upstream.
// The first line of output is the due time of the first query in ns of CLOCK_MONOTONIC; the last
// line is the number of replies that match no query. FILE gets 12 octets per query: due time and
// duration in us, kind, verdict, RCODE, and 0.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    header = 12,
    room = 128,
    most_sockets = 16,
    noise = 60,   // octets of garbage; a query with an answer is longer
    patience = 6, // seconds to wait for the last reply: one more than a client waits
    brief_base = 4096,
    fresh_base = 8192,
    bases_end = 65536,
};

typedef enum { hot, brief, fresh, garbage } Sort;
typedef enum { lost, by_upstream, by_vendor, failed, wrong } Verdict;

typedef struct {
    int64_t due;
    uint32_t number, took_us;
    uint8_t sort, is_vendors, verdict, rcode;
    uint8_t is_open;
} Asked;

static const char *const words[] = {"hot", "brief", "new"};
static const char *const zones[] = {"forward", "vendor"};

static Asked *all;
static long asked, open_good, unasked;
static uint32_t hot_names = 500, brief_names = 100, fresh_names[2];
static uint32_t by_id[most_sockets][1 << 16];
static uint16_t next_id[most_sockets];
static struct pollfd sockets[most_sockets];
static int count = 4;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static size_t put_label(uint8_t *end, const char *label) {
    const size_t length = strlen(label);
    end[0] = (uint8_t)length;
    memcpy(end + 1, label, length);
    return length + 1;
}

static size_t put_question(uint8_t *octets, const Asked *of) {
    char label[32];
    snprintf(label, sizeof label, "%s%07" PRIu32, words[of->sort], of->number);
    uint8_t *end = octets;
    end += put_label(end, label);
    end += put_label(end, zones[of->is_vendors]);
    end += put_label(end, "example");
    const uint8_t tail[] = {0, 0, 1, 0, 1};
    memcpy(end, tail, sizeof tail);
    return (size_t)(end - octets) + sizeof tail;
}

static size_t put_garbage(uint8_t *octets, uint32_t number) {
    for (int index = 2; index < room; index++)
        octets[index] = (uint8_t)(random() >> 8);
    const Asked sample = {.number = number % hot_names, .sort = hot};
    const uint8_t plain[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    if (number % 6 != 5)
        memcpy(octets + 2, plain, sizeof plain);
    switch (number % 6) {
    case 0: return 5;                                                      // no whole header
    case 1: octets[2] = 0x81; break;                                       // a reply
    case 2: octets[2] = 0x29; break;                                       // an UPDATE
    case 3: return header;                                                 // a question is missing
    case 4: octets[header] = 63; return header + 20;                       // a label beyond the end
    default: octets[2] &= 0x7F, octets[5] |= 2; return noise;              // noise
    }
    return header + put_question(octets + header, &sample);
}

static int is_of(const uint8_t *octets, size_t length, const Asked *query) {
    uint8_t question[room];
    const size_t expected = put_question(question, query);
    return length >= header + expected && octets[4] == 0 && octets[5] == 1 &&
           memcmp(octets + header, question, expected) == 0;
}

static uint32_t place(const Asked *query) {
    switch (query->sort) {
    case hot: return query->number;
    case brief: return brief_base + query->number;
    default: return fresh_base + query->number % (bases_end - fresh_base);
    }
}

static Verdict judge(const uint8_t *octets, size_t length, const Asked *query) {
    const int rcode = octets[3] & 15, answers = octets[6] << 8 | octets[7];
    // A reply to garbage is wrong if it has records, except if it only returns the garbage.
    if (query->sort == garbage)
        return rcode != 0 || answers == 0 || length <= noise ? by_upstream : wrong;
    if ((rcode == 2 || rcode == 5) && answers == 0)
        return failed;
    if (rcode != 0 || answers != 1 || octets[2] & 2 || !is_of(octets, length, query))
        return wrong;
    uint8_t question[room];
    const uint8_t *record = octets + header + put_question(question, query);
    static const uint8_t front[] = {0xC0, header, 0, 1, 0, 1};
    if (octets + length < record + 16 || memcmp(record, front, sizeof front) != 0)
        return wrong;
    if (record[10] != 0 || record[11] != 4 || record[12] != 11)
        return wrong;
    if ((uint32_t)(record[14] << 8 | record[15]) != place(query))
        return wrong;
    if (record[13] == 18 && query->is_vendors)
        return by_vendor;
    return record[13] == 19 ? by_upstream : wrong;
}

static Asked *begin(int64_t due) {
    Asked *query = &all[asked++];
    const uint32_t turn = (uint32_t)(asked * 37 % 100), number = (uint32_t)random();
    *query = (Asked){.due = due, .is_open = 1, .is_vendors = turn & 1};
    if (turn < 82)
        query->sort = hot, query->number = number % hot_names;
    else if (turn < 86)
        query->sort = brief, query->number = number % brief_names;
    else if (turn < 94)
        query->sort = fresh, query->number = fresh_names[query->is_vendors]++;
    else
        query->sort = garbage, query->number = number, query->is_vendors = 0;
    open_good += query->sort != garbage;
    return query;
}

static void ask(int index, int64_t due) {
    uint8_t octets[room] = {0, 0, 1, 0, 0, 1};
    const Asked *query = begin(due);
    const uint16_t id = next_id[index]++;
    by_id[index][id] = (uint32_t)asked;
    octets[0] = (uint8_t)(id >> 8), octets[1] = (uint8_t)id;
    const size_t length = query->sort == garbage ? put_garbage(octets, query->number)
                                                 : header + put_question(octets + header, query);
    // send() may fail with the ICMP error of an earlier query. Then a second call sends this query.
    for (int tries = 0; tries < 2; tries++)
        if (send(sockets[index].fd, octets, length, 0) >= 0)
            return;
    if (errno != ECONNREFUSED && errno != ENOBUFS && errno != EAGAIN)
        fail("send");
}

static int hear(int index) {
    uint8_t octets[4096];
    const ssize_t length = recv(sockets[index].fd, octets, sizeof octets, MSG_DONTWAIT);
    if (length < 0) {
        if (errno != EAGAIN && errno != ECONNREFUSED && errno != EINTR)
            fail("recv");
        return errno == ECONNREFUSED;
    }
    const int64_t time = now();
    const uint32_t which = length < header ? 0 : by_id[index][octets[0] << 8 | octets[1]];
    Asked *query = which ? &all[which - 1] : NULL;
    if (!query || !query->is_open || !(octets[2] & 0x80)) {
        unasked++;
        return 1;
    }
    query->is_open = 0;
    open_good -= query->sort != garbage;
    query->took_us = (uint32_t)((time - query->due) / 1000);
    query->rcode = octets[3] & 15;
    query->verdict = (uint8_t)judge(octets, (size_t)length, query);
    return 1;
}

static void run(int64_t start, int64_t end, double rate) {
    for (long number = 0;;) {
        const int64_t time = now();
        int64_t due = start + (int64_t)((double)number * 1e9 / rate);
        while (due <= time && due < end) {
            ask((int)(number % count), due);
            due = start + (int64_t)((double)++number * 1e9 / rate);
        }
        for (int index = 0; index < count; index++)
            while (hear(index))
                ;
        const int64_t until = due < end ? due : end + patience * INT64_C(1000000000);
        if (due >= end && (open_good == 0 || time > until))
            return;
        const int64_t left = until - now();
        const struct timespec wait = {left / 1000000000, left % 1000000000};
        if (left > 0 && ppoll(sockets, (nfds_t)count, &wait, NULL) < 0 && errno != EINTR)
            fail("ppoll");
    }
}

static void open_socket(int index, int port) {
    const int made = socket(AF_INET, SOCK_DGRAM, 0), octets = 4 << 20;
    if (setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0)
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    sockets[index] = (struct pollfd){made, POLLIN, 0};
}

static void write_records(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file)
        fail(path);
    for (long index = 0; index < asked; index++) {
        const Asked *each = &all[index];
        const uint32_t times[] = {(uint32_t)((each->due - all->due) / 1000), each->took_us};
        const uint8_t rest[] = {(uint8_t)(each->sort << 1 | each->is_vendors), each->verdict,
                                each->rcode, 0};
        fwrite(times, sizeof times, 1, file);
        fwrite(rest, sizeof rest, 1, file);
    }
    if (fclose(file) != 0)
        fail(path);
}

int main(int argc, char **argv) {
    int port = 53, option;
    double seconds = 10, rate = 5000;
    const char *path = NULL;
    while ((option = getopt(argc, argv, "p:s:o:r:n:b:c:")) != -1)
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 's': seconds = atof(optarg); break;
        case 'o': path = optarg; break;
        case 'r': rate = atof(optarg); break;
        case 'n': hot_names = (uint32_t)atol(optarg); break;
        case 'b': brief_names = (uint32_t)atol(optarg); break;
        case 'c': count = atoi(optarg); break;
        default: return 2;
        }
    // The wait for a reply must end before its ID is reused.
    const double reused_after = 65536.0 * count / rate;
    if (!path || count < 1 || count > most_sockets || rate <= 0 || reused_after < patience ||
        hot_names < 1 || hot_names > brief_base || brief_names < 1 || brief_names > brief_base)
        return 2;

    // With the default timer slack, the kernel can wake this process 50 us too late.
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    all = calloc((size_t)(seconds * rate) + 2, sizeof *all);
    if (!all)
        fail("calloc");
    for (int index = 0; index < count; index++)
        open_socket(index, port);
    const int64_t start = now() + 1000000, end = start + (int64_t)(seconds * 1e9);
    printf("%" PRId64 "\n", start);
    fflush(stdout);
    run(start, end, rate);
    write_records(path);
    printf("%ld\n", unasked);
    return 0;
}
