// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of libcurl, which depends on thirty libraries in Debian: 4 MiB and 6 ms.
//
// A daemon without vendors does not load libcurl. Each function here forwards to the library. The
// definitions are hidden: libcurl must not resolve to them.
#define _GNU_SOURCE
#define CURL_DISABLE_TYPECHECK
#include "CCurl.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
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
    EACH(curl_version)                                                                                 \
    EACH(curl_version_info)

struct library {
#define EACH(name) __typeof__(name) *name;
    FUNCTIONS(EACH)
#undef EACH
};

static struct library found;

// Returns `address`; exits like the dynamic linker if it is NULL.
static void *checked(void *address) {
    if (address == NULL) {
        fprintf(stderr, "httpdnsd: %s\n", dlerror());
        exit(127);
    }
    return address;
}

static void load(void) {
    void *library = checked(dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL));
#define EACH(name) found.name = (__typeof__(name) *)checked(dlsym(library, #name));
    FUNCTIONS(EACH)
#undef EACH
}

static inline const struct library *curl(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
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

// libcurl copies URLs, which may contain a token: memory is erased before it is freed.

static void wiping_free(void *block) {
    if (block == NULL)
        return;
    explicit_bzero(block, malloc_usable_size(block));
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
