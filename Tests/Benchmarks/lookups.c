// SPDX-License-Identifier: Apache-2.0
//
// Measures getaddrinfo() for both families; the output is JSON.
//
//   lookups -p PORT -n COUNT [-m NAMES] [-k PREFIX] [-x SUFFIX]
//
// Names are those of `load`.
#include <arpa/inet.h>
#include <netdb.h>
#include <resolv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int by_time(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const char *prefix = "name", *suffix = ".hits.example";
    int port = 53, option;
    long count = 3000, names = 1000, failed = 0;
    while ((option = getopt(argc, argv, "p:n:m:k:x:")) != -1)
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'n': count = atol(optarg); break;
        case 'm': names = atol(optarg); break;
        case 'k': prefix = optarg; break;
        case 'x': suffix = optarg; break;
        default: return 2;
        }
    if (count < 1 || names < 1)
        return 2;
    res_init();
    _res.nscount = 1;
    _res.nsaddr_list[0] = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int64_t *times = calloc((size_t)count, sizeof *times);
    const int64_t start = now();
    for (long number = 0; number < count; number++) {
        char name[256];
        // The final dot excludes the search list.
        snprintf(name, sizeof name, "%s%07ld%s.", prefix, number % names, suffix);
        struct addrinfo *found = NULL;
        const int64_t begin = now();
        if (getaddrinfo(name, NULL, &hints, &found) == 0)
            freeaddrinfo(found);
        else
            failed++;
        times[number] = now() - begin;
    }
    const double seconds = (double)(now() - start) / 1e9;
    qsort(times, (size_t)count, sizeof *times, by_time);
    printf("{\"failed\": %ld, \"seconds\": %.6f, \"rate\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f}\n",
           failed, seconds, (double)count / seconds, (double)times[count / 2] / 1e3,
           (double)times[count * 99 / 100] / 1e3);
    return 0;
}
