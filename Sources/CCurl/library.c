// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of libcurl, which depends on thirty libraries in Debian. Loading takes 4 MiB and 6 ms.
//
// A daemon without vendors does not load libcurl. Each function here forwards to the library. The
// definitions have hidden visibility, so that calls within libcurl do not use them.
#define _GNU_SOURCE
#define CURL_DISABLE_TYPECHECK
#include "CCurl.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libcurl also defines macros with these names.
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define FUNCTIONS(EACH)                                                                                \
    EACH(curl_easy_cleanup)                                                                            \
    EACH(curl_easy_getinfo)                                                                            \
    EACH(curl_easy_init)                                                                               \
    EACH(curl_easy_reset)                                                                              \
    EACH(curl_easy_setopt)                                                                             \
    EACH(curl_easy_strerror)                                                                           \
    EACH(curl_global_init_mem)                                                                         \
    EACH(curl_multi_add_handle)                                                                        \
    EACH(curl_multi_cleanup)                                                                           \
    EACH(curl_multi_info_read)                                                                         \
    EACH(curl_multi_init)                                                                              \
    EACH(curl_multi_remove_handle)                                                                     \
    EACH(curl_multi_setopt)                                                                            \
    EACH(curl_multi_socket_action)                                                                     \
    EACH(curl_slist_append)                                                                            \
    EACH(curl_slist_free_all)                                                                          \
    EACH(curl_url)                                                                                     \
    EACH(curl_url_cleanup)                                                                             \
    EACH(curl_url_set)                                                                                 \
    EACH(curl_version)                                                                                 \
    EACH(curl_version_info)

struct library {
#define EACH(name) __typeof__(name) *name;
    FUNCTIONS(EACH)
#undef EACH
};

static struct library found;

// True once `found` is complete.
static bool is_loaded = false;

// Loads all functions; false if the library cannot be loaded or lacks a function.
static bool load(struct library *into) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
#define EACH(name)                                                                                     \
    if ((into->name = (__typeof__(name) *)dlsym(library, #name)) == NULL)                              \
        return false;
    FUNCTIONS(EACH)
#undef EACH
    return true;
}

const char *curl_library_load(void) {
    static _Thread_local char reason[256];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool succeeds = __atomic_load_n(&is_loaded, __ATOMIC_RELAXED);
    if (!succeeds) {
        struct library complete;
        succeeds = load(&complete);
        if (succeeds) {
            found = complete;
            __atomic_store_n(&is_loaded, true, __ATOMIC_RELEASE);
        } else {
            const char *why = dlerror();
            snprintf(reason, sizeof reason, "%s", why == NULL ? "unknown reason" : why);
        }
    }
    pthread_mutex_unlock(&lock);
    return succeeds ? NULL : reason;
}

bool curl_library_is_loaded(void) { return __atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE); }

// Returns the functions; exits like the dynamic linker if the library cannot be loaded.
static inline const struct library *curl(void) {
    if (curl_library_is_loaded())
        return &found;
    const char *reason = curl_library_load();
    if (reason != NULL) {
        fprintf(stderr, "httpdnsd: %s\n", reason);
        exit(127);
    }
    return &found;
}

#define STAND_IN __attribute__((visibility("hidden")))

// MARK: Requests

STAND_IN CURL *curl_easy_init(void) { return curl()->curl_easy_init(); }

STAND_IN void curl_easy_cleanup(CURL *easy) { curl()->curl_easy_cleanup(easy); }

STAND_IN void curl_easy_reset(CURL *easy) { curl()->curl_easy_reset(easy); }

STAND_IN const char *curl_easy_strerror(CURLcode code) { return curl()->curl_easy_strerror(code); }

// A long, a pointer and a curl_off_t have the same size, so each value is passed as a pointer.
_Static_assert(sizeof(void *) == sizeof(curl_off_t) && sizeof(void *) == sizeof(long),
               "arguments have the same size");

STAND_IN CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return curl()->curl_easy_setopt(easy, option, value);
}

STAND_IN CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...) {
    va_list arguments;
    va_start(arguments, info);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return curl()->curl_easy_getinfo(easy, info, value);
}

STAND_IN struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text) {
    return curl()->curl_slist_append(list, text);
}

STAND_IN void curl_slist_free_all(struct curl_slist *list) { curl()->curl_slist_free_all(list); }

STAND_IN CURLU *curl_url(void) { return curl()->curl_url(); }

STAND_IN void curl_url_cleanup(CURLU *url) {
    if (url != NULL)
        curl()->curl_url_cleanup(url);
}

STAND_IN CURLUcode curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned flags) {
    return curl()->curl_url_set(url, part, text, flags);
}

// MARK: Multi handles

STAND_IN CURLM *curl_multi_init(void) { return curl()->curl_multi_init(); }

STAND_IN CURLMcode curl_multi_cleanup(CURLM *multi) { return curl()->curl_multi_cleanup(multi); }

STAND_IN CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy) {
    return curl()->curl_multi_add_handle(multi, easy);
}

STAND_IN CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy) {
    return curl()->curl_multi_remove_handle(multi, easy);
}

STAND_IN CURLMsg *curl_multi_info_read(CURLM *multi, int *left) {
    return curl()->curl_multi_info_read(multi, left);
}

STAND_IN CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    return curl()->curl_multi_setopt(multi, option, value);
}

STAND_IN CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int events,
                                            int *running) {
    return curl()->curl_multi_socket_action(multi, socket, events, running);
}

// MARK: The library

// Allocator for libcurl that erases memory before it frees it, because libcurl copies URLs, and a URL may
// contain a token. Blocks above 16 KiB are buffers for received data, and for bodies of requests: these are
// not secret.

enum { LARGEST_SECRET = 16 << 10 };

static void wiping_free(void *block) {
    if (block == NULL)
        return;
    const size_t octets = malloc_usable_size(block);
    if (octets <= LARGEST_SECRET)
        explicit_bzero(block, octets);
    free(block);
}

static void *wiping_realloc(void *block, size_t octets) {
    const size_t had = block == NULL ? 0 : malloc_usable_size(block);
    if (block != NULL && 0 < octets && octets <= had)
        return block;
    void *moved = octets == 0 ? NULL : malloc(octets);
    if (moved == NULL && octets > 0)
        return NULL;
    if (had > 0 && moved != NULL)
        memcpy(moved, block, had);
    wiping_free(block);
    return moved;
}

STAND_IN CURLcode curl_global_init(long flags) {
    return curl()->curl_global_init_mem(flags, malloc, wiping_free, wiping_realloc, strdup, calloc);
}

STAND_IN char *curl_version(void) { return curl()->curl_version(); }

STAND_IN curl_version_info_data *curl_version_info(CURLversion version) {
    return curl()->curl_version_info(version);
}
