// SPDX-License-Identifier: Apache-2.0
//
// Linux functions that Swift's Glibc lacks without _GNU_SOURCE.
#pragma once
#include "datagrams.h"
#include "loop.h"
#include "memory.h"
#include "network.h"
#include "recorder.h"
