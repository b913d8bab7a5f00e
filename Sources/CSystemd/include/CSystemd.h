// SPDX-License-Identifier: Apache-2.0
//
// libsystemd, which is loaded on demand. library.c defines the functions that this package uses.
#pragma once
#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-journal.h>

/// Loads libsystemd, if it is not loaded; returns NULL, or the reason of a failure.
///
/// The reason is valid until the next call on the same thread. May block on the disk.
const char *systemd_library_load(void);

bool systemd_library_is_loaded(void);
