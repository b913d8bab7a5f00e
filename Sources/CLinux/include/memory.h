// SPDX-License-Identifier: Apache-2.0
//
// Memory hints to the processor.
#pragma once

/// Prefetches the cache line at `address` without waiting; the address need not be valid.
static inline void memory_prefetch(const void *address) { __builtin_prefetch(address); }
