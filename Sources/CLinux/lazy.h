// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of a library. The file that includes this header defines:
//
// - LIBRARY: file name of the library.
// - LAZY(verb): name of a function that is defined here, for the verbs `load` and `is_loaded`.
// - FUNCTIONS(EACH): EACH(result, name, parameters, arguments) for each function of the library.
//
// The forwarding functions have hidden visibility, so that other libraries do not call them.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define STAND_IN __attribute__((visibility("hidden")))

static struct {
#define EACH(result, name, parameters, arguments) __typeof__(name) *name;
    FUNCTIONS(EACH)
#undef EACH
} found;

static bool is_loaded = false;

static bool find_functions(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define EACH(result, name, parameters, arguments)                                                      \
    if ((found.name = (__typeof__(name) *)dlsym(library, #name)) == NULL)                              \
        return false;
    FUNCTIONS(EACH)
#undef EACH
    return true;
}

const char *LAZY(load)(void) {
    static _Thread_local char reason[256];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool succeeds = __atomic_load_n(&is_loaded, __ATOMIC_RELAXED);
    if (!succeeds) {
        succeeds = find_functions();
        if (succeeds) {
            __atomic_store_n(&is_loaded, true, __ATOMIC_RELEASE);
        } else {
            const char *why = dlerror();
            snprintf(reason, sizeof reason, "%s", why == NULL ? "unknown reason" : why);
        }
    }
    pthread_mutex_unlock(&lock);
    return succeeds ? NULL : reason;
}

bool LAZY(is_loaded)(void) { return __atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE); }

// On failure, exits with code 127, like the dynamic linker.
static inline void need_library(void) {
    const char *reason = LAZY(is_loaded)() ? NULL : LAZY(load)();
    if (reason != NULL) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, reason);
        exit(127);
    }
}
