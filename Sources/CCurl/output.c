// SPDX-License-Identifier: Apache-2.0
//
// libcurl writes the headers and the body of each request separately. A BIO between OpenSSL and the
// socket collects the TLS records of one libcurl call, which then share a system call and packets.
#include "CCurl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CAPACITY = 16 << 10 };

struct output {
    struct output *next;
    int socket;
    size_t count;
    char octets[CAPACITY];
};

static struct output *outputs;

// False only if all buffers are empty.
static bool has_octets;

static int *sockets;
static size_t socket_count, socket_capacity;

// After a failure, shuts down the socket, so that libcurl reads the end of the connection.
static void send_octets(struct output *output) {
    size_t begin = 0;
    while (begin < output->count && output->socket >= 0) {
        const ssize_t sent = send(output->socket, output->octets + begin, output->count - begin,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            begin += (size_t)sent;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            shutdown(output->socket, SHUT_RDWR);
            output->socket = -1;
        }
    }
    if (output->socket < 0)
        begin = output->count;
    output->count -= begin;
    memmove(output->octets, output->octets + begin, output->count);
}

static int write_octets(BIO *bio, const char *octets, int count) {
    struct output *output = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (CAPACITY - output->count < (size_t)count)
        send_octets(output);
    if (output->socket < 0) {
        errno = EPIPE;
        return -1;
    }
    const size_t room = CAPACITY - output->count;
    if (room == 0) {
        BIO_set_retry_write(bio);
        return -1;
    }
    const size_t taken = (size_t)count < room ? (size_t)count : room;
    memcpy(output->octets + output->count, octets, taken);
    output->count += taken;
    has_octets = true;
    return (int)taken;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    // `curl_output_send` later sends the octets.
    return command == BIO_CTRL_FLUSH;
}

static int destroy(BIO *bio) {
    struct output *output = BIO_get_data(bio);
    if (output == NULL)
        return 1;
    // The last octets are the alert `close_notify`.
    send_octets(output);
    struct output **place = &outputs;
    while (*place != output)
        place = &(*place)->next;
    *place = output->next;
    free(output);
    return 1;
}

static BIO_METHOD *method;
static int method_type;

static void make_method(void) {
    method_type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK;
    method = BIO_meth_new(method_type, "buffered output");
    if (method == NULL)
        return;
    BIO_meth_set_write(method, write_octets);
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

void curl_output_opened(int socket) {
    curl_output_closed(socket);
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

void curl_output_closed(int socket) {
    for (size_t index = 0; index < socket_count; index++)
        if (sockets[index] == socket)
            sockets[index--] = sockets[--socket_count];
    for (struct output *each = outputs; each != NULL; each = each->next)
        if (each->socket == socket)
            each->socket = -1;
}

void curl_output_buffer(CURL *easy, const char *peer, int peer_port, int local_port) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    SSL *tls = curl_easy_get_tls(easy);
    if (tls == NULL || peer == NULL || pthread_once(&once, make_method) != 0 || method == NULL)
        return;
    const BIO *current = SSL_get_wbio(tls);
    if (current == NULL || BIO_method_type(current) == method_type || SSL_in_init(tls))
        return;
    size_t index = 0;
    while (index < socket_count && !connects(sockets[index], peer, peer_port, local_port))
        index++;
    if (index == socket_count)
        return;
    struct output *output = malloc(sizeof *output);
    BIO *bio = output == NULL ? NULL : BIO_new(method);
    if (bio == NULL)
        return free(output);
    output->next = outputs;
    output->socket = sockets[index];
    output->count = 0;
    outputs = output;
    BIO_set_data(bio, output);
    BIO_set_init(bio, 1);
    SSL_set0_wbio(tls, bio);
}

bool curl_output_send(void) {
    if (!has_octets)
        return true;
    has_octets = false;
    for (struct output *each = outputs; each != NULL; each = each->next) {
        if (each->count > 0)
            send_octets(each);
        has_octets |= each->count > 0;
    }
    return !has_octets;
}
