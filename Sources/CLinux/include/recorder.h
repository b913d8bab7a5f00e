// SPDX-License-Identifier: Apache-2.0
//
// The last lines of a log, in memory from which they can be written out while the process crashes.
#pragma once
#include <stddef.h>

/// Lines that are kept, and octets that are kept of each.
enum { RECORDER_LINES = 2048, RECORDER_OCTETS = 252 };

/// A ring of lines.  Memory is touched as it is used: half a MiB once it is full.
struct recorder;

/// A ring without lines, or NULL without memory.
struct recorder *recorder_new(void);

/// Gives a ring's memory back, unless ``recorder_write_at_crash`` was told of it.
void recorder_free(struct recorder *recorder);

/// Keeps a line, without its end, in the place of the oldest one; one caller at a time.
///
/// `shown` is whether somebody has seen it already.
void recorder_note(struct recorder *recorder, const void *text, size_t octets, int shown);

/// How many lines are kept.
size_t recorder_count(const struct recorder *recorder);

/// The octets of a line, the oldest having the number 0, and where they are until the next note.
size_t recorder_line(const struct recorder *recorder, size_t number, const char **text, int *shown);

/// Writes all lines to standard error if the process is about to be ended by a fault, an abort or a
/// trap; then that goes on as it would have.
///
/// To be called once.  What is done in the signal handler is safe there (signal-safety(7)): it calls
/// sigaction, write and raise, and takes no lock.  A stack that has overflown has no room for it.
void recorder_write_at_crash(const struct recorder *recorder);
