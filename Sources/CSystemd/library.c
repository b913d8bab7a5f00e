// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of libsystemd, with its five libraries, for D-Bus and for a service of systemd.
//
// Each function here forwards to the library, or returns -ELIBACC.
#define _GNU_SOURCE
#include "CSystemd.h"

// Macro of sd-journal.h.
#undef sd_journal_sendv

// Result, name, parameters, arguments.
#define RETURNING_STATUS(EACH)                                                                         \
    EACH(int, sd_bus_add_match_async, (sd_bus *bus, sd_bus_slot **slot, const char *match,             \
         sd_bus_message_handler_t callback, sd_bus_message_handler_t install_callback,                 \
         void *userdata), (bus, slot, match, callback, install_callback, userdata))                    \
    EACH(int, sd_bus_attach_event, (sd_bus *bus, sd_event *e, int priority), (bus, e, priority))       \
    EACH(int, sd_bus_call_async, (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m,                  \
         sd_bus_message_handler_t callback, void *userdata, uint64_t usec),                            \
         (bus, slot, m, callback, userdata, usec))                                                     \
    EACH(int, sd_bus_message_append_basic, (sd_bus_message *m, char type, const void *p),              \
         (m, type, p))                                                                                 \
    EACH(int, sd_bus_message_enter_container, (sd_bus_message *m, char type,                           \
         const char *contents), (m, type, contents))                                                   \
    EACH(int, sd_bus_message_exit_container, (sd_bus_message *m), (m))                                 \
    EACH(int, sd_bus_message_is_method_error, (sd_bus_message *m, const char *name), (m, name))        \
    EACH(int, sd_bus_message_new_method_call, (sd_bus *bus, sd_bus_message **m,                        \
         const char *destination, const char *path, const char *interface, const char *member),        \
         (bus, m, destination, path, interface, member))                                               \
    EACH(int, sd_bus_message_peek_type, (sd_bus_message *m, char *type, const char **contents),        \
         (m, type, contents))                                                                          \
    EACH(int, sd_bus_message_read_basic, (sd_bus_message *m, char type, void *p), (m, type, p))        \
    EACH(int, sd_bus_message_set_auto_start, (sd_bus_message *m, int b), (m, b))                       \
    EACH(int, sd_bus_new, (sd_bus **ret), (ret))                                                       \
    EACH(int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address))                  \
    EACH(int, sd_bus_set_bus_client, (sd_bus *bus, int b), (bus, b))                                   \
    EACH(int, sd_bus_set_connected_signal, (sd_bus *bus, int b), (bus, b))                             \
    EACH(int, sd_bus_set_watch_bind, (sd_bus *bus, int b), (bus, b))                                   \
    EACH(int, sd_bus_slot_set_destroy_callback, (sd_bus_slot *s, sd_bus_destroy_t callback),           \
         (s, callback))                                                                                \
    EACH(int, sd_bus_slot_set_floating, (sd_bus_slot *slot, int b), (slot, b))                         \
    EACH(int, sd_bus_start, (sd_bus *bus), (bus))                                                      \
    EACH(int, sd_event_get_fd, (sd_event *e), (e))                                                     \
    EACH(int, sd_event_new, (sd_event **e), (e))                                                       \
    EACH(int, sd_event_run, (sd_event *e, uint64_t usec), (e, usec))                                   \
    EACH(int, sd_journal_sendv, (const struct iovec *iov, int n), (iov, n))                            \
    EACH(int, sd_listen_fds_with_names, (int unset_environment, char ***names),                        \
         (unset_environment, names))                                                                   \
    EACH(int, sd_notify, (int unset_environment, const char *state), (unset_environment, state))       \
    EACH(int, sd_watchdog_enabled, (int unset_environment, uint64_t *usec),                            \
         (unset_environment, usec))

#define RELEASING(EACH)                                                                                \
    EACH(sd_bus *, sd_bus_close_unref, (sd_bus *object), (object))                                     \
    EACH(sd_bus_message *, sd_bus_message_unref, (sd_bus_message *object), (object))                   \
    EACH(sd_bus_slot *, sd_bus_slot_unref, (sd_bus_slot *object), (object))

#define FUNCTIONS(EACH) RETURNING_STATUS(EACH) RELEASING(EACH)
#define LIBRARY "libsystemd.so.0"
#define LAZY(verb) systemd_library_##verb
#include "../CLinux/lazy.h"

#define EACH(result, name, parameters, arguments)                                                      \
    STAND_IN result name parameters {                                                                  \
        if (!systemd_library_is_loaded() && systemd_library_load() != NULL)                            \
            return -ELIBACC;                                                                           \
        return found.name arguments;                                                                   \
    }
RETURNING_STATUS(EACH)
#undef EACH

// If there is an object, the library is loaded, because only the library creates objects.
#define EACH(result, name, parameters, arguments)                                                      \
    STAND_IN result name parameters { return object == NULL ? NULL : found.name arguments; }
RELEASING(EACH)
#undef EACH
