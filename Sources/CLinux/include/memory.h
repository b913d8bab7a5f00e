// SPDX-License-Identifier: Apache-2.0
//
// What a processor is told about memory.
#pragma once

/// Starts to bring the cache line at `address` near, without waiting for it; any address will do.
static inline void memory_prefetch(const void *address) { __builtin_prefetch(address); }
