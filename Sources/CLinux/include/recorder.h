// SPDX-License-Identifier: Apache-2.0
//
// Circular buffer of the last log lines, which a crashing process can write out.
#pragma once
#include <stddef.h>

enum { RECORDER_LINES = 2048, RECORDER_OCTETS = 252 };

/// 0.5 MiB when full.
struct recorder;

/// NULL without memory.
struct recorder *recorder_new(void);

/// Not for a buffer that was passed to ``recorder_write_at_crash``.
void recorder_free(struct recorder *recorder);

/// Replaces the oldest line; `shown` is 1 if the line has been logged.
///
/// Not thread-safe.
void recorder_note(struct recorder *recorder, const void *text, size_t octets, int shown);

size_t recorder_count(const struct recorder *recorder);

/// Returns the size of line `number` (0 is the oldest).
///
/// `text` is valid until the next `recorder_note`.
size_t recorder_line(const struct recorder *recorder, size_t number, const char **text, int *shown);

/// Writes all lines to standard error on a fault, abort or trap.
///
/// Call once. Async-signal-safe (signal-safety(7)). Cannot run after a stack overflow.
void recorder_write_at_crash(const struct recorder *recorder);
