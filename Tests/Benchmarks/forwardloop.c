// SPDX-License-Identifier: Apache-2.0
//
// Minimum cost of a DNS forwarder over UDP: one thread with epoll, recvmmsg and sendmmsg.
//
//   forwardloop PORT UPSTREAM-PORT
//
// Has the daemon's protection against forged replies: random IDs, and random ports that change
// after 64 queries (RFC 5452 §9.2). A reply is checked only for its ID. There are no cache and no
// timeouts: the socket of a query without a reply stays open. Listens on 127.0.0.1 and prints the
// port; port 0 selects a free one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { batch = 32, datagram = 4096, slots = 8, uses = 64, together = 8, events = 64 };

typedef struct {
    int descriptor, count, unanswered, is_current;
    uint16_t ids[uses], clients_ids[uses];
    uint8_t is_answered[uses];
    struct sockaddr_in clients[uses];
} Socket;

typedef struct {
    uint8_t octets[batch][datagram];
    struct mmsghdr messages[batch];
    struct iovec parts[batch];
    struct sockaddr_in addresses[batch];
} Batch;

static Socket *current[slots];
static struct sockaddr_in upstream;
static int poller, clients;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t random_number(void) {
    static uint64_t pool[256];
    static size_t left;
    if (left == 0) {
        if (getrandom(pool, sizeof pool, 0) != sizeof pool)
            fail("getrandom");
        left = 256;
    }
    return pool[--left];
}

static void watch(int descriptor, void *socket) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = socket};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("epoll_ctl");
}

static Socket *open_socket(void) {
    Socket *made = calloc(1, sizeof *made);
    made->descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    made->is_current = 1;
    if (connect(made->descriptor, (struct sockaddr *)&upstream, sizeof upstream) != 0)
        fail("connect");
    watch(made->descriptor, made);
    return made;
}

static void close_if_used(Socket *socket) {
    if (socket->is_current || socket->unanswered > 0)
        return;
    close(socket->descriptor);
    free(socket);
}

static Socket *socket_at(int index) {
    Socket *socket = current[index];
    if (socket != NULL && socket->count < uses)
        return socket;
    if (socket != NULL) {
        socket->is_current = 0;
        close_if_used(socket);
    }
    return current[index] = open_socket();
}

static void send_all(int descriptor, struct mmsghdr *messages, int count) {
    for (int done = 0; done < count;) {
        const int sent = sendmmsg(descriptor, messages + done, (unsigned)(count - done), 0);
        if (sent <= 0)
            return;
        done += sent;
    }
}

static int receive(int descriptor, Batch *from, int room) {
    for (int index = 0; index < room; index++) {
        from->parts[index] = (struct iovec){from->octets[index], datagram};
        from->messages[index].msg_hdr = (struct msghdr){
            .msg_name = &from->addresses[index],
            .msg_namelen = sizeof from->addresses[index],
            .msg_iov = &from->parts[index],
            .msg_iovlen = 1,
        };
    }
    return recvmmsg(descriptor, from->messages, (unsigned)room, MSG_DONTWAIT, NULL);
}

static void forward(Batch *queries) {
    const int count = receive(clients, queries, batch);
    int index = (int)(random_number() % slots);
    Socket *socket = NULL;
    int start = 0; // the first query that was not sent
    for (int each = 0; each < count; each++) {
        struct msghdr *message = &queries->messages[each].msg_hdr;
        if (queries->messages[each].msg_len < 12) {
            fprintf(stderr, "forwardloop: a query is shorter than a header\n");
            exit(1);
        }
        if (each - start == together || socket == NULL || socket->count == uses) {
            if (socket != NULL)
                send_all(socket->descriptor, queries->messages + start, each - start);
            start = each;
            index = (index + 1) % slots;
            socket = socket_at(index);
        }
        const int place = socket->count++;
        const uint16_t id = (uint16_t)random_number();
        socket->unanswered++;
        socket->ids[place] = id;
        socket->clients[place] = queries->addresses[each];
        memcpy(&socket->clients_ids[place], queries->octets[each], 2);
        memcpy(queries->octets[each], &id, 2);
        queries->parts[each].iov_len = queries->messages[each].msg_len;
        message->msg_name = NULL;
        message->msg_namelen = 0;
    }
    if (socket != NULL)
        send_all(socket->descriptor, queries->messages + start, count - start);
}

static void answer(Socket *socket, Batch *replies) {
    const int count = receive(socket->descriptor, replies, batch);
    int kept = 0;
    for (int index = 0; index < count; index++) {
        uint16_t id;
        if (replies->messages[index].msg_len < 12)
            continue;
        memcpy(&id, replies->octets[index], 2);
        for (int place = 0; place < socket->count; place++) {
            if (socket->ids[place] != id || socket->is_answered[place])
                continue;
            socket->is_answered[place] = 1;
            socket->unanswered--;
            memcpy(replies->octets[index], &socket->clients_ids[place], 2);
            replies->addresses[kept] = socket->clients[place];
            replies->parts[kept] =
                (struct iovec){replies->octets[index], replies->messages[index].msg_len};
            replies->messages[kept].msg_hdr.msg_name = &replies->addresses[kept];
            replies->messages[kept].msg_hdr.msg_namelen = sizeof replies->addresses[kept];
            replies->messages[kept].msg_hdr.msg_iov = &replies->parts[kept];
            kept++;
            break;
        }
    }
    send_all(clients, replies->messages, kept);
    close_if_used(socket);
}

int main(int count, char **words) {
    static Batch messages;
    if (count != 3) {
        fprintf(stderr, "usage: forwardloop PORT UPSTREAM-PORT\n");
        return 2;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    upstream = address;
    upstream.sin_port = htons(atoi(words[2]));
    socklen_t length = sizeof address;
    const int octets = 4 << 20;
    clients = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(clients, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    if (bind(clients, (struct sockaddr *)&address, length) != 0)
        fail("bind");
    getsockname(clients, (struct sockaddr *)&address, &length);
    poller = epoll_create1(EPOLL_CLOEXEC);
    watch(clients, NULL);
    printf("answering on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event ready[events];
        const int found = epoll_wait(poller, ready, events, -1);
        for (int index = 0; index < found; index++) {
            if (ready[index].data.ptr == NULL)
                forward(&messages);
            else
                answer(ready[index].data.ptr, &messages);
        }
    }
}
