// SPDX-License-Identifier: Apache-2.0
//
// Minimum cost of vendor calls: libcurl's multi interface in one thread with epoll, with the
// daemon's options and requests.
//
//   vendorloop -u URL -a ADDR:PORT -n COUNT -c CONCURRENT [-k PREFIX] [-C CAFILE] [-H HEADER] [-1]
//
// `{name}` in URL becomes PREFIX and a number. A reply without that name is wrong. The first
// request, which opens the connection, is not measured. Totals are printed in JSON; the thread's
// processor time is in ns.
//
//   vendorloop -p PORT -u URL -a ADDR:PORT -c CONCURRENT [-C CAFILE] [-H HEADER] [-1]
//
// With -p, this is a minimal DNS server at PORT of 127.0.0.1, in front of a vendor. Each query
// causes a request, and the first address of the reply is the answer. It has no checks, cache or
// timeouts.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    CURL *easy;
    int64_t start;
    char name[256], body[4096];
    size_t length;

    uint8_t query[512];
    size_t asked;
    struct sockaddr_in from;
} Request;

static CURLM *multi;
static int events;
static int64_t timer = -1; // ns; the time at which libcurl wants to be called, -1 for never
static long started, ended, failed, wrong, connections;
static int64_t *times;
static const char *url, *prefix = "name", *authorities;
static struct curl_slist *headers, *target;
static int is_http1;
static int clients = -1; // the socket for queries
static Request **idle;   // requests that are free for a query
static long idles;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t spent(void) {
    long long time = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%lld", &time) != 1)
        exit(1);
    fclose(file);
    return time;
}

static size_t receive(char *data, size_t size, size_t count, void *owner) {
    Request *request = owner;
    size *= count;
    if (request->length + size >= sizeof request->body)
        return 0;
    memcpy(request->body + request->length, data, size);
    request->length += size;
    request->body[request->length] = 0;
    return size;
}

static int watch(CURL *easy, curl_socket_t descriptor, int what, void *owner, void *known) {
    (void)easy, (void)owner;
    struct epoll_event event = {.data.fd = descriptor};
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(events, EPOLL_CTL_DEL, descriptor, NULL), 0;
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    epoll_ctl(events, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
    if (!known)
        curl_multi_assign(multi, descriptor, &multi);
    return 0;
}

static int wake(CURLM *of, long milliseconds, void *owner) {
    (void)of, (void)owner;
    timer = milliseconds < 0 ? -1 : now() + milliseconds * INT64_C(1000000);
    return 0;
}

static void prepare(Request *request) {
    CURL *easy = request->easy;
    char text[512];
    const char *place = strstr(url, "{name}");
    if (clients < 0)
        snprintf(request->name, sizeof request->name, "%s%ld.example.com", prefix, started);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - url), url, request->name, place + 6);
    curl_easy_setopt(easy, CURLOPT_URL, text);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, target);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 5000L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 800L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     (long)(is_http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, is_http1 ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    if (authorities) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
}

static void begin(Request *request) {
    curl_easy_reset(request->easy);
    prepare(request);
    request->length = 0;
    request->start = now();
    curl_multi_add_handle(multi, request->easy);
    started++;
}

static void answer(Request *request) {
    uint8_t *end = request->query + request->asked;
    const char *data = strstr(request->body, "\"data\":\"");
    const char *ttl = strstr(request->body, "\"TTL\":");
    char text[16] = "";
    struct in_addr address;
    if (!data || !ttl || sscanf(data + 8, "%15[0-9.]", text) != 1 ||
        inet_pton(AF_INET, text, &address) != 1)
        return;
    const uint32_t seconds = htonl((uint32_t)atol(ttl + 6));
    request->query[2] |= 0x80, request->query[3] = 0x80, request->query[7] = 1;
    memcpy(end, "\xC0\x0C\0\1\0\1", 6);
    memcpy(end + 6, &seconds, 4);
    memcpy(end + 10, "\0\4", 2);
    memcpy(end + 12, &address, 4);
    sendto(clients, request->query, request->asked + 16, 0, (struct sockaddr *)&request->from,
           sizeof request->from);
}

static void serve(void) {
    while (idles > 0) {
        Request *request = idle[idles - 1];
        socklen_t size = sizeof request->from;
        const ssize_t length = recvfrom(clients, request->query, sizeof request->query - 16, 0,
                                        (struct sockaddr *)&request->from, &size);
        if (length < 0)
            return;
        size_t offset = 12, used = 0;
        while (offset < (size_t)length && request->query[offset] &&
               used + request->query[offset] + 1 < sizeof request->name) {
            const size_t label = request->query[offset];
            memcpy(request->name + used, request->query + offset + 1, label);
            used += label, offset += label + 1;
            request->name[used++] = '.';
        }
        if (used == 0 || offset + 5 != (size_t)length)
            continue;
        request->name[used - 1] = 0;
        request->asked = (size_t)length;
        idles--;
        begin(request);
    }
}

static void reap(long total) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        Request *request;
        CURL *easy = message->easy_handle;
        const CURLcode code = message->data.result;
        long status = 0, opened = 0;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &opened);
        connections += opened;
        if (code != CURLE_OK || status != 200) {
            if (!failed++)
                fprintf(stderr, "vendorloop: %s, status %ld\n", curl_easy_strerror(code), status);
        } else if (!strstr(request->body, request->name)) {
            wrong++;
        }
        curl_multi_remove_handle(multi, easy);
        if (clients >= 0) {
            answer(request);
            idle[idles++] = request;
            continue;
        }
        times[ended++] = now() - request->start;
        if (started < total)
            begin(request);
    }
}

static void run(long total) {
    while (total < 0 || ended < total) {
        int running, wait = -1;
        if (timer >= 0) {
            const int64_t left = timer - now();
            wait = left <= 0 ? 0 : (int)((left + 999999) / 1000000);
        }
        struct epoll_event ready[64];
        const int count = epoll_wait(events, ready, 64, wait);
        if (timer >= 0 && now() >= timer) {
            timer = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        for (int index = 0; index < count; index++) {
            if (ready[index].data.fd == clients)
                continue;
            int flags = 0;
            if (ready[index].events & (EPOLLIN | EPOLLHUP))
                flags |= CURL_CSELECT_IN;
            if (ready[index].events & EPOLLOUT)
                flags |= CURL_CSELECT_OUT;
            if (ready[index].events & EPOLLERR)
                flags |= CURL_CSELECT_ERR;
            curl_multi_socket_action(multi, ready[index].data.fd, flags, &running);
        }
        reap(total);
        if (clients >= 0)
            serve();
    }
}

static void listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int room = 4 << 20;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    clients = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    setsockopt(clients, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (bind(clients, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("bind");
        exit(1);
    }
    socklen_t size = sizeof address;
    getsockname(clients, (struct sockaddr *)&address, &size);
    // Edge-triggered events are enough, because `serve` checks for more queries in each iteration.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = clients};
    epoll_ctl(events, EPOLL_CTL_ADD, clients, &event);
    printf("answering on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

static int by_time(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    long count = 10000, concurrent = 200;
    int option, port = -1;
    while ((option = getopt(argc, argv, "p:u:a:n:c:k:C:H:1")) != -1)
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'u': url = optarg; break;
        case 'a': {
            char text[128];
            snprintf(text, sizeof text, "::%s", optarg);
            target = curl_slist_append(NULL, text);
            break;
        }
        case 'n': count = atol(optarg); break;
        case 'c': concurrent = atol(optarg); break;
        case 'k': prefix = optarg; break;
        case 'C': authorities = optarg; break;
        case 'H': headers = curl_slist_append(headers, optarg); break;
        case '1': is_http1 = 1; break;
        default: return 2;
        }
    if (!url || !strstr(url, "{name}") || !target)
        return 2;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    events = epoll_create1(0);
    times = calloc((size_t)count + 1, sizeof *times);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 32L);
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 128L);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 32L);
    // Without this option, libcurl opens a connection for each request above 100.
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, concurrent);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, wake);

    Request *requests = calloc((size_t)concurrent, sizeof *requests);
    for (long index = 0; index < concurrent; index++)
        requests[index].easy = curl_easy_init();
    if (port >= 0) {
        idle = calloc((size_t)concurrent, sizeof *idle);
        for (; idles < concurrent; idles++)
            idle[idles] = &requests[idles];
        listen_on(port);
        run(-1);
    }
    begin(&requests[0]);
    run(1);

    const int64_t start = now(), cost = spent();
    for (long index = 0; index < concurrent && index < count; index++)
        begin(&requests[index]);
    run(count + 1);
    const double elapsed = (double)(now() - start) / 1e9;
    const double cpu = (double)(spent() - cost) / 1e3;

    qsort(times + 1, (size_t)count, sizeof *times, by_time);
    printf("{\"requests\": %ld, \"failed\": %ld, \"wrong\": %ld, \"connections\": %ld, "
           "\"seconds\": %.6f, \"cpu_us\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
           "\"max_us\": %.1f}\n",
           count, failed, wrong, connections, elapsed, cpu, (double)times[1 + count / 2] / 1e3,
           (double)times[1 + count * 99 / 100] / 1e3, (double)times[count] / 1e3);
    return failed || wrong;
}
