// SPDX-License-Identifier: Apache-2.0
//
// Minimum cost of a DNS server: returns each query with the QR flag and an ANCOUNT of 1.
//
//   floor udp PORT [THREADS]    blocking recvmmsg and sendmmsg, 32 datagrams at most
//   floor poll PORT             recv and send without ever sleeping: the lowest latency
//   floor tcp PORT              epoll; one write for all queries of a read
//
// Listens on 127.0.0.1 and prints the port; port 0 selects a free one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { batch = 32, datagram = 4096, stream = 1 << 16, connections = 1024 };

typedef struct {
    size_t count;
    uint8_t octets[stream];
} Connection;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void answer(uint8_t *message) {
    message[2] |= 0x80; // QR
    message[7] = 1;     // ANCOUNT
}

static int open_socket(int kind, int port) {
    const int made = socket(AF_INET, kind, 0), octets = 4 << 20, on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0)
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(made, (struct sockaddr *)&address, length) != 0)
        fail("bind");
    if (kind == SOCK_STREAM && listen(made, 512) != 0)
        fail("listen");
    return made;
}

static int port_of(int descriptor) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(descriptor, (struct sockaddr *)&address, &length);
    return ntohs(address.sin_port);
}

static void announce(int descriptor) {
    printf("answering on 127.0.0.1:%d\n", port_of(descriptor));
    fflush(stdout);
}

static void *serve_datagrams(void *argument) {
    static _Thread_local uint8_t buffers[batch][datagram];
    static _Thread_local struct mmsghdr messages[batch];
    static _Thread_local struct iovec parts[batch];
    static _Thread_local struct sockaddr_in clients[batch];
    const int descriptor = *(const int *)argument;
    for (;;) {
        for (int index = 0; index < batch; index++) {
            parts[index] = (struct iovec){buffers[index], datagram};
            messages[index].msg_hdr = (struct msghdr){
                .msg_name = &clients[index],
                .msg_namelen = sizeof clients[index],
                .msg_iov = &parts[index],
                .msg_iovlen = 1,
            };
        }
        const int count = recvmmsg(descriptor, messages, batch, MSG_WAITFORONE, NULL);
        for (int index = 0; index < count; index++) {
            if (messages[index].msg_len >= 12)
                answer(buffers[index]);
            parts[index].iov_len = messages[index].msg_len;
        }
        for (int done = 0; done < count;) {
            const int sent = sendmmsg(descriptor, messages + done, (unsigned)(count - done), 0);
            if (sent <= 0)
                break;
            done += sent;
        }
    }
    return NULL;
}

static void start_datagrams(int port, int threads) {
    int *descriptors = calloc((size_t)threads, sizeof *descriptors);
    for (int index = 0; index < threads; index++) {
        descriptors[index] = open_socket(SOCK_DGRAM, port);
        port = port_of(descriptors[index]);
    }
    announce(descriptors[0]);
    for (int index = 1; index < threads; index++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve_datagrams, &descriptors[index]) != 0)
            fail("pthread_create");
    }
    serve_datagrams(&descriptors[0]);
}

static void poll_datagrams(int port) {
    static uint8_t message[datagram];
    const int descriptor = open_socket(SOCK_DGRAM, port);
    announce(descriptor);
    for (;;) {
        struct sockaddr_in client;
        socklen_t length = sizeof client;
        const ssize_t count = recvfrom(descriptor, message, sizeof message, MSG_DONTWAIT,
                                       (struct sockaddr *)&client, &length);
        if (count < 12)
            continue;
        answer(message);
        sendto(descriptor, message, (size_t)count, 0, (struct sockaddr *)&client, length);
    }
}

static void serve_stream(int events, int descriptor, Connection *connection) {
    const ssize_t count = read(descriptor, connection->octets + connection->count,
                               stream - connection->count);
    if (count <= 0) {
        epoll_ctl(events, EPOLL_CTL_DEL, descriptor, NULL);
        close(descriptor);
        connection->count = 0;
        return;
    }
    connection->count += (size_t)count;
    size_t end = 0;
    while (end + 2 <= connection->count) {
        uint8_t *message = connection->octets + end + 2;
        const size_t length = (size_t)(message[-2] << 8 | message[-1]);
        if (end + 2 + length > connection->count)
            break;
        if (length >= 12)
            answer(message);
        end += 2 + length;
    }
    if (end == 0)
        return;
    if (write(descriptor, connection->octets, end) != (ssize_t)end)
        fail("write"); // the client does not read
    memmove(connection->octets, connection->octets + end, connection->count - end);
    connection->count -= end;
}

static void serve_streams(int port) {
    static Connection *all[connections];
    static struct epoll_event ready[256];
    const int listener = open_socket(SOCK_STREAM, port), events = epoll_create1(0), on = 1;
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(events, EPOLL_CTL_ADD, listener, &wanted);
    announce(listener);
    for (;;) {
        const int count = epoll_wait(events, ready, 256, -1);
        for (int index = 0; index < count; index++) {
            const int descriptor = ready[index].data.fd;
            if (descriptor != listener) {
                serve_stream(events, descriptor, all[descriptor]);
                continue;
            }
            const int client = accept4(listener, NULL, NULL, 0);
            if (client < 0)
                continue;
            if (client >= connections) {
                close(client);
                continue;
            }
            setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            if (!all[client] && !(all[client] = calloc(1, sizeof(Connection))))
                fail("calloc");
            wanted = (struct epoll_event){.events = EPOLLIN, .data.fd = client};
            epoll_ctl(events, EPOLL_CTL_ADD, client, &wanted);
        }
    }
}

int main(int argc, char **argv) {
    const int threads = argc == 4 ? atoi(argv[3]) : 1;
    if ((argc == 3 || argc == 4) && threads > 0 && strcmp(argv[1], "udp") == 0)
        start_datagrams(atoi(argv[2]), threads);
    if (argc == 3 && strcmp(argv[1], "poll") == 0)
        poll_datagrams(atoi(argv[2]));
    if (argc == 3 && strcmp(argv[1], "tcp") == 0)
        serve_streams(atoi(argv[2]));
    fprintf(stderr, "usage: floor udp PORT [THREADS] | poll PORT | tcp PORT\n");
    return 2;
}
