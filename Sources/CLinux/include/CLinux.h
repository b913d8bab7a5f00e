// SPDX-License-Identifier: Apache-2.0
//
// What Linux has and Swift's Glibc module does not show, because the importer does not define
// _GNU_SOURCE: one header a purpose.
#pragma once
#include "datagrams.h"
#include "loop.h"
#include "memory.h"
#include "network.h"
#include "recorder.h"
