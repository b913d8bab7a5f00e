// SPDX-License-Identifier: Apache-2.0
//
// Init process for `scripts/bpf --kernel`. Runs the BPF program on one query: first with all
// capabilities, then with those of the daemon. Prints "taken" on success, then powers off the
// machine.
#include "../include/CBPF.h"
#include <arpa/inet.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { HEADERS = 14 + 20 + 8, RECORD = 16, TTL = 6, ROOM = 512 };

static char log_[1 << 20];

static int drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = 1U << CAP_NET_ADMIN | 1U << CAP_SYS_BOOT,
         .permitted = 1U << CAP_NET_ADMIN | 1U << CAP_SYS_BOOT},
        {.effective = 1U << (CAP_BPF - 32), .permitted = 1U << (CAP_BPF - 32)},
    };
    return (int)syscall(SYS_capset, &header, data);
}

static const char *fault(void) {
    struct bpf_answering answering;
    bpf_failure failure;
    if (bpf_answering_open(&answering, 64, &failure, log_, sizeof log_) != 0)
        return failure;
    static const uint8_t question[] = "\3www\7example\3com\0\0\1\0\1";
    static const uint8_t record[RECORD] = {0xC0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 192, 0, 2, 1};
    const uint8_t name_count = sizeof question - 1 - 4;
    struct answer answer = {
        .ends_at = UINT64_MAX, .type = 1, .variant = ANSWER_FOR_ALL, .name_count = name_count,
        .counts = {1}, .section_count = RECORD, .ttl_count = 1,
    };
    const uint16_t ttl = 12 + sizeof question - 1 + TTL;
    const uint64_t key = bpf_answering_key(answering.state, question, name_count, 1, ANSWER_FOR_ALL);
    if (bpf_answering_put(&answering, key, &answer, question, (const uint8_t *)&ttl, record) != 0)
        return "an answer";
    const struct answer_listener listener = {{htonl(INADDR_LOOPBACK)}, htons(53), 4};
    bpf_answering_listen(answering.state, &listener, 1);
    bpf_answering_families(answering.state, ANSWER_IPV4);

    uint8_t frame[ROOM] = {[12] = 8, [14] = 0x45, [22] = 64, 17, [26] = 127, 0, 0, 1, 127, 0, 0, 1, 99, 99, 0, 53};
    const size_t payload = 12 + sizeof question - 1, count = HEADERS + payload;
    frame[17] = (uint8_t)(count - 14);
    frame[39] = (uint8_t)(count - 34);
    frame[HEADERS + 2] = frame[HEADERS + 5] = 1;
    memcpy(frame + HEADERS + 12, question, sizeof question - 1);
    const int replied = bpf_answering_try(&answering, frame, (uint32_t)count, ROOM);
    const int is_right = replied == (int)count + RECORD && frame[HEADERS + 2] == 0x81 &&
                         memcmp(frame + count, record, TTL) == 0 &&
                         memcmp(frame + count + TTL + 4, record + TTL + 4, RECORD - TTL - 4) == 0 &&
                         bpf_answering_hits(&answering, 0) == 1;
    bpf_answering_close(&answering);
    return is_right ? NULL : "the reply";
}

int main(void) {
    struct utsname system;
    uname(&system);
    const char *who[] = {"root", "CAP_BPF and CAP_NET_ADMIN"};
    for (int index = 0; index < 2; index++) {
        const char *what = index == 1 && drop_capabilities() != 0 ? "capabilities" : fault();
        if (what)
            printf("Linux %s, %s: failed: %s\n%s\n", system.release, who[index], what, log_);
        else
            printf("Linux %s, %s: taken\n", system.release, who[index]);
    }
    fflush(stdout);
    if (getpid() == 1)
        reboot(RB_POWER_OFF);
    return 0;
}
