// SPDX-License-Identifier: Apache-2.0
//
// Linux functions that the module Glibc of Swift lacks, because Swift does not define _GNU_SOURCE.
#pragma once
#include "datagrams.h"
#include "loop.h"
#include "memory.h"
#include "network.h"
#include "recorder.h"
