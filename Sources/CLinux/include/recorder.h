// SPDX-License-Identifier: Apache-2.0
//
// Circular buffer of the last log lines, which a crashing process can write out.
#pragma once
#include <stddef.h>

enum { RECORDER_LINES = 2048, RECORDER_OCTETS = 252 };

/// Circular buffer of 0.5 MiB.
struct recorder;

struct recorder *recorder_new(void);

/// Frees a buffer, unless ``recorder_write_at_crash`` uses it.
void recorder_free(struct recorder *recorder);

/// Replaces the oldest line of a full buffer. Not thread-safe.
///
/// `shown` is 1 if the line has also been logged.
void recorder_note(struct recorder *recorder, const void *text, size_t octets, int shown);

size_t recorder_count(const struct recorder *recorder);

/// Returns the size of a line (0 is the oldest); `text` is valid until `recorder_note`.
size_t recorder_line(const struct recorder *recorder, size_t number, const char **text, int *shown);

/// Installs a crash handler that writes all lines to standard error; call once.
///
/// The handler is async-signal-safe (signal-safety(7)), and cannot run after a stack overflow.
void recorder_write_at_crash(const struct recorder *recorder);
