// SPDX-License-Identifier: Apache-2.0
//
// Sends DNS queries over UDP or TCP, and prints number, correctness and latency of the answers.
//
//   load -p PORT -s SECONDS [-n NAMES] [-k PREFIX] [-x SUFFIX] [-t TYPE] [-e] [-c SOCKETS]
//        [-w OUTSTANDING] [-1] [-T] [-r PER_SECOND [-i FRESH]] [-S] [-R RCODE] [-a] [-b BEFORE]
//
// Names are PREFIX, seven digits and SUFFIX, in an order that processor caches cannot predict. -b
// skips the first BEFORE names of this order; -1 queries each name once. -e adds an OPT record.
// By default, OUTSTANDING queries are kept in flight over SOCKETS sockets. -r sends PER_SECOND
// queries a second, and measures latencies from due times; with -i, FRESH of these queries are for
// new names, with separate latencies. -S never sleeps. An answer is wrong if its RCODE is not the
// RCODE of -R, or, with -a, if it has no answer record. -T uses TCP, with many queries in a write.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
    batch = 32,
    header = 12,
    slots = 8192, // queries in flight per socket
    room = 512,   // octets of a query
    buckets = 64 * 64,
    stream = 1 << 16,
};

// 64 buckets for each doubling of the latency, in ns.
typedef struct {
    uint64_t times[buckets], known;
} Times;

typedef struct {
    int descriptor, waiting;
    uint16_t next;             // the next ID
    int64_t due[slots];        // send or due time of the query with an ID, 0 if there is none
    uint8_t is_fresh[slots];
    int64_t heard;             // time of the last reply, or of the end of an idle state
    uint8_t *in, *out;         // TCP: octets read but not parsed, written but not sent
    size_t in_count, out_count, out_sent;
} Socket;

static const char *prefix = "name", *suffix = ".hits.example";
static long names = 1000, asked, answered, wrong, lost, fresh_asked, fresh_answered;
static int type = 1, with_edns, is_tcp, expected = -1, needs_answer;
static uint64_t stride = 1, place;
static Times hits, misses;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void note(Times *times, int64_t took) {
    const uint64_t value = took > 0 ? (uint64_t)took : 0;
    int bucket = (int)value;
    if (value >= 64) {
        const int octave = 63 - __builtin_clzll(value);
        bucket = (octave - 5) * 64 + (int)((value >> (octave - 6)) & 63);
    }
    times->times[bucket < buckets ? bucket : buckets - 1]++;
    times->known++;
}

// Quantile in microseconds.
static double quantile(const Times *times, double part) {
    uint64_t passed = 0;
    for (int bucket = 0; bucket < buckets; bucket++) {
        passed += times->times[bucket];
        if (passed && (double)passed >= part * (double)times->known) {
            if (bucket < 64)
                return bucket / 1e3;
            const int octave = bucket / 64 + 5;
            return ((double)(1ull << octave) + (bucket % 64 + 0.5) * (double)(1ull << (octave - 6))) / 1e3;
        }
    }
    return 0;
}

static size_t put_name(uint8_t *octets, const char *head, uint64_t number) {
    char name[256], digits[24];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) || count < 7);
    size_t length = strlen(head);
    memcpy(name, head, length);
    while (count)
        name[length++] = digits[--count];
    strcpy(name + length, suffix);

    uint8_t *end = octets;
    for (const char *label = name; *label;) {
        const size_t part = strcspn(label, ".");
        *end++ = (uint8_t)part;
        memcpy(end, label, part);
        end += part;
        label += part + (label[part] == '.');
    }
    *end++ = 0;
    return (size_t)(end - octets);
}

static size_t query(uint8_t *octets, uint16_t id, int is_fresh) {
    static const uint8_t head[header] = {0, 0, 1, 0, 0, 1};
    static const uint8_t opt[11] = {0, 0, 41, 0x04, 0xD0};
    memcpy(octets, head, header);
    octets[0] = (uint8_t)(id >> 8), octets[1] = (uint8_t)id;
    size_t end = header;
    if (is_fresh) {
        char unique[64];
        snprintf(unique, sizeof unique, "%sfresh%d", prefix, (int)getpid());
        end += put_name(octets + end, unique, (uint64_t)fresh_asked++);
    } else {
        place = (place + stride) % (uint64_t)names;
        end += put_name(octets + end, prefix, place);
    }
    const uint8_t tail[4] = {(uint8_t)(type >> 8), (uint8_t)type, 0, 1};
    memcpy(octets + end, tail, sizeof tail);
    end += sizeof tail;
    if (with_edns) {
        octets[11] = 1;
        memcpy(octets + end, opt, sizeof opt);
        end += sizeof opt;
    }
    asked++;
    return end;
}

static size_t ask(Socket *from, uint8_t *octets, int64_t due, int is_fresh) {
    const uint16_t id = from->next++;
    from->due[id % slots] = due;
    from->is_fresh[id % slots] = (uint8_t)is_fresh;
    from->waiting++;
    return query(octets, id, is_fresh);
}

static void take(Socket *to, const uint8_t *octets, size_t count, int64_t time) {
    if (count < header || !(octets[2] & 0x80)) {
        wrong++;
        return;
    }
    const int slot = (octets[0] << 8 | octets[1]) % slots;
    if (!to->due[slot])
        return; // the reply came after the timeout
    if (to->is_fresh[slot])
        fresh_answered++;
    note(to->is_fresh[slot] ? &misses : &hits, time - to->due[slot]);
    to->due[slot] = 0;
    to->waiting--;
    answered++;
    const int has_answer = octets[6] || octets[7];
    if ((expected >= 0 && (octets[3] & 15) != expected) || (needs_answer && !has_answer))
        wrong++;
}

static uint8_t received[batch][4096], sent[batch][room];
static struct mmsghdr in[batch], out[batch];
static struct iovec in_parts[batch], out_parts[batch];

// Receives a single reply with `recv`, as DNS clients do, and several replies with `recvmmsg`.
static int receive_datagrams(Socket *from) {
    int count = 1;
    if (from->waiting == 1) {
        const ssize_t octets = recv(from->descriptor, received[0], sizeof received[0], MSG_DONTWAIT);
        if (octets < 0)
            return 0;
        in[0].msg_len = (unsigned)octets;
    } else
        count = recvmmsg(from->descriptor, in, batch, MSG_DONTWAIT, NULL);
    if (count <= 0)
        return 0;
    const int64_t time = now();
    for (int index = 0; index < count; index++)
        take(from, received[index], in[index].msg_len, time);
    from->heard = time;
    return count;
}

static void send_datagrams(Socket *to, int count, int64_t due, int is_fresh) {
    for (int index = 0; index < count; index++)
        out_parts[index].iov_len = ask(to, sent[index], due, is_fresh);
    int done = 0;
    while (done < count) {
        const int now_sent =
            count == 1 ? (send(to->descriptor, sent[0], out_parts[0].iov_len, 0) < 0 ? -1 : 1)
                       : sendmmsg(to->descriptor, out + done, (unsigned)(count - done), 0);
        if (now_sent > 0)
            done += now_sent;
        else if (errno != ENOBUFS && errno != EAGAIN && errno != ECONNREFUSED)
            fail("sendmmsg");
    }
}

static void flush(Socket *to) {
    while (to->out_sent < to->out_count) {
        const ssize_t count =
            send(to->descriptor, to->out + to->out_sent, to->out_count - to->out_sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0)
            fail("send");
        to->out_sent += (size_t)count;
    }
    to->out_sent = to->out_count = 0;
}

static void send_stream(Socket *to, int count, int64_t due) {
    for (int index = 0; index < count && to->out_count + room < stream; index++) {
        uint8_t *octets = to->out + to->out_count;
        const size_t length = ask(to, octets + 2, due, 0);
        octets[0] = (uint8_t)(length >> 8), octets[1] = (uint8_t)length;
        to->out_count += length + 2;
    }
    flush(to);
}

static int receive_stream(Socket *from) {
    const ssize_t count =
        recv(from->descriptor, from->in + from->in_count, stream - from->in_count, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (count <= 0) {
        fprintf(stderr, "load: the server ended a connection\n");
        exit(1);
    }
    from->in_count += (size_t)count;
    const int64_t time = now();
    size_t begin = 0;
    int taken = 0;
    while (from->in_count - begin >= 2) {
        const size_t length = (size_t)(from->in[begin] << 8 | from->in[begin + 1]);
        if (from->in_count - begin - 2 < length)
            break;
        take(from, from->in + begin + 2, length, time);
        begin += 2 + length;
        taken++;
    }
    memmove(from->in, from->in + begin, from->in_count - begin);
    from->in_count -= begin;
    from->heard = time;
    return taken;
}

static Socket *sockets;
static struct pollfd *events;
static int count = 16;

static int receive(Socket *from) { return is_tcp ? receive_stream(from) : receive_datagrams(from); }

static void rest(int64_t end) {
    const int64_t left = end - now();
    if (left <= 0)
        return;
    const struct timespec wait = {left / 1000000000, left % 1000000000};
    if (ppoll(events, (nfds_t)count, &wait, NULL) < 0 && errno != EINTR)
        fail("ppoll");
}

static void closed_loop(int outstanding, int64_t end, int once, int spins) {
    const int64_t patience = 1000000000;
    const int share = outstanding / count > 0 ? outstanding / count : 1;
    for (;;) {
        const int64_t time = now();
        if (time >= end || (once && answered + lost >= names))
            return;
        int heard = 0;
        for (int index = 0; index < count; index++) {
            Socket *each = &sockets[index];
            if (each->waiting > 0) {
                heard += receive(each);
                if (each->waiting > 0 && time - each->heard > patience) {
                    lost += each->waiting;
                    each->waiting = 0;
                    memset(each->due, 0, sizeof each->due);
                }
            }
            int free = share - each->waiting;
            if (free > batch && !is_tcp)
                free = batch;
            if (once && asked + free > names)
                free = (int)(names - asked);
            // Waits for half a batch: with one system call per query, this program would be
            // the bottleneck.
            if (free > 0 && (each->waiting == 0 || free >= batch / 2 || free * 2 >= share)) {
                if (each->waiting == 0)
                    each->heard = time;
                if (is_tcp)
                    send_stream(each, free, time);
                else
                    send_datagrams(each, free, time, 0);
            } else if (is_tcp)
                flush(each);
        }
        if (!heard && !spins)
            rest(time + 20000000);
    }
}

static void open_loop(double rate, double fresh, int64_t start, int64_t end, int spins) {
    double fresh_due = 0;
    for (long number = 0;;) {
        int64_t time = now();
        int64_t due = start + (int64_t)((double)number * 1e9 / rate);
        while (due <= time && due < end) {
            fresh_due += fresh / rate;
            const int is_fresh = fresh_due >= 1;
            fresh_due -= is_fresh;
            send_datagrams(&sockets[number % count], 1, due, is_fresh);
            due = start + (int64_t)((double)++number * 1e9 / rate);
        }
        for (int index = 0; index < count; index++)
            if (sockets[index].waiting > 0)
                receive(&sockets[index]);
        if (due >= end && (answered >= asked || time > end + 1000000000))
            break;
        if (!spins)
            rest(due < end ? due : end + 1000000000);
    }
    lost = asked - answered;
}

static void open_socket(Socket *made, int index, int port) {
    made->descriptor = socket(AF_INET, is_tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
    made->next = (uint16_t)(index * 977);
    const int octets = 4 << 20, on = 1;
    if (is_tcp) {
        made->in = malloc(stream), made->out = malloc(stream);
        setsockopt(made->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    } else if (setsockopt(made->descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) != 0)
        setsockopt(made->descriptor, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made->descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    events[index] = (struct pollfd){made->descriptor, POLLIN, 0};
}

static void say(const char *name, const Times *times) {
    printf(", \"%s\": {\"p50_us\": %.2f, \"p90_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f}",
           name, quantile(times, .5), quantile(times, .9), quantile(times, .99),
           quantile(times, .999));
}

int main(int argc, char **argv) {
    int port = 53, option, outstanding = 192, once = 0, spins = 0;
    double seconds = 1, rate = 0, fresh = 0;
    uint64_t before = 0;
    while ((option = getopt(argc, argv, "p:s:n:k:x:t:ec:w:1Tr:i:SR:ab:")) != -1)
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 's': seconds = atof(optarg); break;
        case 'n': names = atol(optarg); break;
        case 'k': prefix = optarg; break;
        case 'x': suffix = optarg; break;
        case 't': type = atoi(optarg); break;
        case 'e': with_edns = 1; break;
        case 'c': count = atoi(optarg); break;
        case 'w': outstanding = atoi(optarg); break;
        case '1': once = 1; break;
        case 'T': is_tcp = 1; break;
        case 'r': rate = atof(optarg); break;
        case 'i': fresh = atof(optarg); break;
        case 'S': spins = 1; break;
        case 'R': expected = atoi(optarg); break;
        case 'a': needs_answer = 1; break;
        case 'b': before = strtoull(optarg, NULL, 10); break;
        default: return 2;
        }
    if (names < 1 || count < 1 || outstanding / count >= slots || strlen(prefix) + strlen(suffix) > 180)
        return 2;
    static const uint64_t primes[] = {1000003, 999983, 611953, 1};
    for (int index = 0; names % (long)(stride = primes[index]) == 0 && stride > 1; index++)
        ;
    place = before % (uint64_t)names * (stride % (uint64_t)names) % (uint64_t)names;

    // With the default timer slack, the kernel can wake this process 50 us too late.
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    sockets = calloc((size_t)count, sizeof *sockets);
    events = calloc((size_t)count, sizeof *events);
    for (int index = 0; index < batch; index++) {
        in_parts[index] = (struct iovec){received[index], sizeof received[index]};
        in[index].msg_hdr = (struct msghdr){.msg_iov = &in_parts[index], .msg_iovlen = 1};
        out_parts[index] = (struct iovec){sent[index], 0};
        out[index].msg_hdr = (struct msghdr){.msg_iov = &out_parts[index], .msg_iovlen = 1};
    }
    for (int index = 0; index < count; index++)
        open_socket(&sockets[index], index, port);

    const int64_t start = now(), end = start + (int64_t)(seconds * 1e9);
    if (rate > 0)
        open_loop(rate, fresh, start, end, spins);
    else
        closed_loop(outstanding, end, once, spins);
    const double elapsed = rate > 0 ? seconds : (double)(now() - start) / 1e9;
    printf("{\"asked\": %ld, \"answered\": %ld, \"wrong\": %ld, \"lost\": %ld, \"fresh\": %ld, "
           "\"fresh_answered\": %ld, \"seconds\": %.6f, \"rate\": %.1f",
           asked, answered, wrong, lost, fresh_asked, fresh_answered, elapsed,
           (double)answered / elapsed);
    say("times", &hits);
    say("fresh_times", &misses);
    printf("}\n");
    return 0;
}
