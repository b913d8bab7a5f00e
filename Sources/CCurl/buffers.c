// SPDX-License-Identifier: Apache-2.0
//
// A BIO between OpenSSL and libcurl's BIO. libcurl writes the headers and the body of each request
// separately. This BIO collects the TLS records of one libcurl call, and sends them with one system
// call, so that they share packets. It also reads several records with one system call; OpenSSL needs
// two system calls for each record.
#include "CCurl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CAPACITY = 16 << 10, READ_CAPACITY = 8 << 10 };

struct buffers {
    struct buffers *next;
    int socket;
    size_t count;
    char octets[CAPACITY];
    bool reads_ahead;
    // True if OpenSSL has taken octets from `read` since the last call of `curl_buffers_are_unread`.
    bool has_changed;
    // Range of the octets of `read` that OpenSSL has not taken yet.
    size_t begin, end;
    char read[]; // READ_CAPACITY octets if `reads_ahead`.
};

static struct buffers *all;

// False only if all buffers are empty.
static bool has_octets;

static int *sockets;
static size_t socket_count, socket_capacity;

// After a failure, shuts down the socket, so that libcurl reads the end of the connection.
static void send_octets(struct buffers *buffers) {
    size_t begin = 0;
    while (begin < buffers->count && buffers->socket >= 0) {
        const ssize_t sent = send(buffers->socket, buffers->octets + begin, buffers->count - begin,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            begin += (size_t)sent;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            shutdown(buffers->socket, SHUT_RDWR);
            buffers->socket = -1;
        }
    }
    if (buffers->socket < 0)
        begin = buffers->count;
    buffers->count -= begin;
    memmove(buffers->octets, buffers->octets + begin, buffers->count);
}

static int write_octets(BIO *bio, const char *octets, int count) {
    struct buffers *buffers = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (CAPACITY - buffers->count < (size_t)count)
        send_octets(buffers);
    if (buffers->socket < 0) {
        errno = EPIPE;
        return -1;
    }
    const size_t room = CAPACITY - buffers->count;
    if (room == 0) {
        BIO_set_retry_write(bio);
        return -1;
    }
    const size_t taken = (size_t)count < room ? (size_t)count : room;
    memcpy(buffers->octets + buffers->count, octets, taken);
    buffers->count += taken;
    has_octets = true;
    return (int)taken;
}

// Reads through libcurl's BIO, because libcurl evaluates the errors of its own BIO.
static int read_octets(BIO *bio, char *octets, int count) {
    struct buffers *buffers = BIO_get_data(bio);
    BIO *next = BIO_next(bio);
    BIO_clear_retry_flags(bio);
    if (buffers->begin == buffers->end) {
        const bool is_direct = !buffers->reads_ahead || count >= READ_CAPACITY;
        const int found = is_direct ? BIO_read(next, octets, count)
                                    : BIO_read(next, buffers->read, READ_CAPACITY);
        BIO_copy_next_retry(bio);
        if (is_direct || found <= 0)
            return found;
        buffers->begin = 0;
        buffers->end = (size_t)found;
    }
    const size_t unread = buffers->end - buffers->begin;
    const size_t taken = (size_t)count < unread ? (size_t)count : unread;
    memcpy(octets, buffers->read + buffers->begin, taken);
    buffers->begin += taken;
    buffers->has_changed = true;
    return (int)taken;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    const struct buffers *buffers = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: // `curl_buffers_send` later sends the octets.
        return 1;
    case BIO_CTRL_PENDING:
        return (long)(buffers->end - buffers->begin);
    case BIO_CTRL_EOF:
        return buffers->begin == buffers->end ? BIO_ctrl(BIO_next(bio), command, number, pointer) : 0;
    default:
        return 0;
    }
}

static int destroy(BIO *bio) {
    struct buffers *buffers = BIO_get_data(bio);
    if (buffers == NULL)
        return 1;
    // The last octets are the alert `close_notify`.
    send_octets(buffers);
    struct buffers **place = &all;
    while (*place != buffers)
        place = &(*place)->next;
    *place = buffers->next;
    free(buffers);
    return 1;
}

static BIO_METHOD *method;
static int method_type;

static void make_method(void) {
    method_type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK;
    method = BIO_meth_new(method_type, "buffers");
    if (method == NULL)
        return;
    BIO_meth_set_write(method, write_octets);
    BIO_meth_set_read(method, read_octets);
    BIO_meth_set_ctrl(method, control);
    BIO_meth_set_destroy(method, destroy);
}

static bool has_address(const struct sockaddr_storage *address, const char *text, int port) {
    char host[INET6_ADDRSTRLEN];
    const bool is_ipv6 = address->ss_family == AF_INET6;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    if (ntohs(is_ipv6 ? six->sin6_port : four->sin_port) != port)
        return false;
    if (text == NULL)
        return true;
    const void *octets = is_ipv6 ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr;
    return inet_ntop(address->ss_family, octets, host, sizeof host) != NULL &&
           strcmp(host, text) == 0;
}

static bool connects(int socket, const char *peer, int peer_port, int local_port) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &length) != 0 ||
        !has_address(&address, NULL, local_port))
        return false;
    length = sizeof address;
    return getpeername(socket, (struct sockaddr *)&address, &length) == 0 &&
           has_address(&address, peer, peer_port);
}

void curl_buffers_opened(int socket) {
    curl_buffers_closed(socket);
    if (socket_count == socket_capacity) {
        const size_t capacity = 2 * socket_capacity + 8;
        int *larger = realloc(sockets, capacity * sizeof *sockets);
        if (larger == NULL)
            return;
        sockets = larger;
        socket_capacity = capacity;
    }
    sockets[socket_count++] = socket;
}

void curl_buffers_closed(int socket) {
    for (size_t index = 0; index < socket_count; index++)
        if (sockets[index] == socket)
            sockets[index--] = sockets[--socket_count];
    for (struct buffers *each = all; each != NULL; each = each->next)
        if (each->socket == socket)
            each->socket = -1;
}

// Over HTTP/1.1, libcurl would take unread octets for the reply to the next request.
static bool uses_http2(const SSL *tls) {
    const unsigned char *name;
    unsigned length;
    SSL_get0_alpn_selected(tls, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

void curl_buffers_add(CURL *easy, const char *peer, int peer_port, int local_port,
                      bool reads_ahead) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    SSL *tls = curl_easy_get_tls(easy);
    if (tls == NULL || peer == NULL || pthread_once(&once, make_method) != 0 || method == NULL)
        return;
    BIO *current = SSL_get_wbio(tls);
    if (current == NULL || BIO_method_type(current) == method_type || SSL_in_init(tls) ||
        SSL_get_rbio(tls) != current)
        return;
    size_t index = 0;
    while (index < socket_count && !connects(sockets[index], peer, peer_port, local_port))
        index++;
    if (index == socket_count)
        return;
    reads_ahead = reads_ahead && uses_http2(tls);
    struct buffers *buffers = malloc(sizeof *buffers + (reads_ahead ? READ_CAPACITY : 0));
    BIO *bio = buffers == NULL ? NULL : BIO_new(method);
    if (bio == NULL)
        return free(buffers);
    buffers->next = all;
    buffers->socket = sockets[index];
    buffers->count = buffers->begin = buffers->end = 0;
    buffers->reads_ahead = reads_ahead;
    buffers->has_changed = false;
    all = buffers;
    BIO_set_data(bio, buffers);
    BIO_set_init(bio, 1);
    // `SSL_set_bio` releases the connection's references to libcurl's BIO; the new BIO needs one.
    BIO_up_ref(current);
    BIO_push(bio, current);
    SSL_set_bio(tls, bio, bio);
}

bool curl_buffers_are_unread(int socket, bool has_progress) {
    for (struct buffers *each = all; each != NULL; each = each->next)
        if (each->socket == socket) {
            has_progress |= each->has_changed;
            each->has_changed = false;
            return has_progress && each->begin < each->end;
        }
    return false;
}

bool curl_buffers_send(void) {
    if (!has_octets)
        return true;
    has_octets = false;
    for (struct buffers *each = all; each != NULL; each = each->next) {
        if (each->count > 0)
            send_octets(each);
        has_octets |= each->count > 0;
    }
    return !has_octets;
}
