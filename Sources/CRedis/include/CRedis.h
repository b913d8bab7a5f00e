// SPDX-License-Identifier: Apache-2.0
//
// Functions of libhiredis that encode commands and decode replies. The library is loaded on demand, and its
// network client is not used.
#pragma once
#include <hiredis/hiredis.h>

/// Maximum number of arguments of a command.
#define REDIS_MAXIMUM_ARGUMENTS 32

/// Loads the library; returns NULL, or the reason why it cannot be loaded.
const char *redis_load(void);

/// Formats a command; `octets` has the arguments one after another, with their `lengths`.
///
/// Returns the length of `*command`, which `redis_free_command` frees; negative on failure.
long redis_format_command(char **command, const void *octets, const size_t *lengths, int count);

void redis_free_command(char *command);

redisReader *redis_reader_create(void);

void redis_reader_free(redisReader *reader);

/// Appends octets to the reader's input; returns false if memory runs out.
int redis_reader_feed(redisReader *reader, const void *octets, size_t count);

/// Moves the next complete reply to `*reply`; returns false if the input is invalid.
///
/// If there is no complete reply, `*reply` is NULL.
int redis_reader_reply(redisReader *reader, redisReply **reply);

void redis_free_reply(redisReply *reply);
