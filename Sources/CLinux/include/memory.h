// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Prefetches a cache line; the address need not be valid.
static inline void memory_prefetch(const void *address) { __builtin_prefetch(address); }
