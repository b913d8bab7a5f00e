// SPDX-License-Identifier: Apache-2.0
//
// Functions of libhiredis that encode commands and decode replies, loaded on demand.
#pragma once
#include <hiredis/hiredis.h>

#define REDIS_MAXIMUM_ARGUMENTS 32

/// Returns NULL, or the reason of a failure.
const char *redis_load(void);

/// Formats a command; `octets` has the arguments one after another, with their `lengths`.
///
/// Returns the length of `*command`, which `redis_free_command` frees; negative on failure.
long redis_format_command(char **command, const void *octets, const size_t *lengths, int count);

void redis_free_command(char *command);

redisReader *redis_reader_create(void);

void redis_reader_free(redisReader *reader);

/// Returns false if memory runs out.
int redis_reader_feed(redisReader *reader, const void *octets, size_t count);

/// Moves the next complete reply to `*reply`, or NULL; returns false if the input is invalid.
int redis_reader_reply(redisReader *reader, redisReply **reply);

void redis_free_reply(redisReply *reply);
