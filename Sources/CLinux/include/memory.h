// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Prefetches the cache line at `address`, which need not be valid.
static inline void memory_prefetch(const void *address) { __builtin_prefetch(address); }
