// SPDX-License-Identifier: Apache-2.0
//
// Ring buffer of the last log lines, which can be written out while the process crashes.
#pragma once
#include <stddef.h>

/// Number of lines, and maximum size of a line in octets.
enum { RECORDER_LINES = 2048, RECORDER_OCTETS = 252 };

/// A ring of lines. Its memory is populated on use: 0.5 MiB when full.
struct recorder;

/// Creates an empty ring; returns NULL without memory.
struct recorder *recorder_new(void);

/// Frees a ring, unless it was passed to ``recorder_write_at_crash``.
void recorder_free(struct recorder *recorder);

/// Stores a line, without its newline, in place of the oldest one. Not thread-safe.
///
/// `shown` is 1 if the line has been written to the log.
void recorder_note(struct recorder *recorder, const void *text, size_t octets, int shown);

/// Returns the number of stored lines.
size_t recorder_count(const struct recorder *recorder);

/// Returns the size of the line `number` (0 is the oldest line). Sets `text`, which is valid until
/// the next call of `recorder_note`, and `shown`, the argument of `recorder_note`.
size_t recorder_line(const struct recorder *recorder, size_t number, const char **text, int *shown);

/// Installs handlers that write all lines to standard error on a fault, abort or trap, before the
/// process ends as usual.
///
/// Call once. The handler is async-signal-safe (signal-safety(7)): it only calls sigaction, write
/// and raise, and takes no lock. It cannot run after a stack overflow.
void recorder_write_at_crash(const struct recorder *recorder);
