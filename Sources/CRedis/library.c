// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of libhiredis, only for `fleet`.
#include "CRedis.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define LIBRARY "libhiredis.so." TEXT(HIREDIS_SONAME)

#define FUNCTIONS(EACH)                                                                                \
    EACH(freeReplyObject)                                                                              \
    EACH(redisFormatCommandArgv)                                                                       \
    EACH(redisFreeCommand)                                                                             \
    EACH(redisReaderCreate)                                                                            \
    EACH(redisReaderFeed)                                                                              \
    EACH(redisReaderFree)                                                                              \
    EACH(redisReaderGetReply)

static struct {
#define EACH(name) __typeof__(name) *name;
    FUNCTIONS(EACH)
#undef EACH
} found;

static const char *problem;

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        problem = "cannot load " LIBRARY "; install the package of libhiredis";
        return;
    }
#define EACH(name)                                                                                     \
    found.name = (__typeof__(name) *)dlsym(library, #name);                                            \
    if (found.name == NULL) {                                                                          \
        problem = LIBRARY " has no function " #name;                                                   \
        return;                                                                                        \
    }
    FUNCTIONS(EACH)
#undef EACH
}

const char *redis_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return problem;
}

long redis_format_command(char **command, const void *octets, const size_t *lengths, int count) {
    const char *arguments[REDIS_MAXIMUM_ARGUMENTS];
    if (count < 1 || count > REDIS_MAXIMUM_ARGUMENTS)
        return -1;
    const char *next = octets;
    for (int index = 0; index < count; index++) {
        arguments[index] = next;
        next += lengths[index];
    }
    return (long)found.redisFormatCommandArgv(command, count, arguments, lengths);
}

void redis_free_command(char *command) { found.redisFreeCommand(command); }

redisReader *redis_reader_create(void) { return found.redisReaderCreate(); }

void redis_reader_free(redisReader *reader) { found.redisReaderFree(reader); }

int redis_reader_feed(redisReader *reader, const void *octets, size_t count) {
    return found.redisReaderFeed(reader, octets, count) == REDIS_OK;
}

int redis_reader_reply(redisReader *reader, redisReply **reply) {
    void *taken = NULL;
    int status = found.redisReaderGetReply(reader, &taken);
    *reply = taken;
    return status == REDIS_OK;
}

void redis_free_reply(redisReply *reply) { found.freeReplyObject(reply); }
