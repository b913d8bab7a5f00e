// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of libcurl, which takes 4 MiB and 6 ms. Each function here forwards to the library.
#define _GNU_SOURCE
#define CURL_DISABLE_TYPECHECK
#include "CCurl.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// Macros of libcurl.
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

// Result type, name, parameters, arguments.
#define FORWARDED(EACH)                                                                                \
    EACH(void, curl_easy_cleanup, (CURL *easy), (easy))                                                \
    EACH(CURL *, curl_easy_init, (void), ())                                                           \
    EACH(void, curl_easy_reset, (CURL *easy), (easy))                                                  \
    EACH(const char *, curl_easy_strerror, (CURLcode code), (code))                                    \
    EACH(CURLMcode, curl_multi_add_handle, (CURLM *multi, CURL *easy), (multi, easy))                  \
    EACH(CURLMcode, curl_multi_cleanup, (CURLM *multi), (multi))                                       \
    EACH(CURLMsg *, curl_multi_info_read, (CURLM *multi, int *left), (multi, left))                    \
    EACH(CURLM *, curl_multi_init, (void), ())                                                         \
    EACH(CURLMcode, curl_multi_remove_handle, (CURLM *multi, CURL *easy), (multi, easy))               \
    EACH(CURLMcode, curl_multi_socket_action,                                                          \
         (CURLM *multi, curl_socket_t socket, int events, int *running),                               \
         (multi, socket, events, running))                                                             \
    EACH(struct curl_slist *, curl_slist_append, (struct curl_slist *list, const char *text),          \
         (list, text))                                                                                 \
    EACH(void, curl_slist_free_all, (struct curl_slist *list), (list))                                 \
    EACH(CURLU *, curl_url, (void), ())                                                                \
    EACH(CURLUcode, curl_url_set, (CURLU *url, CURLUPart part, const char *text, unsigned flags),      \
         (url, part, text, flags))                                                                     \
    EACH(char *, curl_version, (void), ())                                                             \
    EACH(curl_version_info_data *, curl_version_info, (CURLversion version), (version))

#define FUNCTIONS(EACH)                                                                                \
    FORWARDED(EACH)                                                                                    \
    EACH(, curl_easy_getinfo, , )                                                                      \
    EACH(, curl_easy_setopt, , )                                                                       \
    EACH(, curl_global_init_mem, , )                                                                   \
    EACH(, curl_multi_setopt, , )                                                                      \
    EACH(, curl_url_cleanup, , )

#define LIBRARY "libcurl.so.4"
#define LAZY(verb) curl_library_##verb
#include "../CLinux/lazy.h"

#define EACH(result, name, parameters, arguments)                                                      \
    STAND_IN result name parameters {                                                                  \
        need_library();                                                                                \
        return found.name arguments;                                                                   \
    }
FORWARDED(EACH)
#undef EACH

// A long, a pointer and a curl_off_t have the same size, so each value is passed as a pointer.
_Static_assert(sizeof(void *) == sizeof(curl_off_t) && sizeof(void *) == sizeof(long),
               "arguments have the same size");

STAND_IN CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    need_library();
    return found.curl_easy_setopt(easy, option, value);
}

STAND_IN CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...) {
    va_list arguments;
    va_start(arguments, info);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    need_library();
    return found.curl_easy_getinfo(easy, info, value);
}

STAND_IN void curl_url_cleanup(CURLU *url) {
    if (url == NULL)
        return;
    need_library();
    found.curl_url_cleanup(url);
}

STAND_IN CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    need_library();
    return found.curl_multi_setopt(multi, option, value);
}

// MARK: The library

// Erases memory before it is freed: libcurl copies URLs, and a URL may contain a token.

// A receive buffer of a transfer (16 KiB + 1) contains no secret. A block of glibc can be up to 23
// octets longer than requested. Buffers that can contain a URL are longer: the upload buffer (see
// EasyHandle), and from libcurl 8.1 the send buffer of HTTP/2 (16 KiB + 40).
static bool is_receive_buffer(void *block) {
    const size_t octets = malloc_usable_size(block);
    return octets > 16 << 10 && octets <= (16 << 10) + 24;
}

bool curl_library_erases(void *block) { return !is_receive_buffer(block); }

static void wiping_free(void *block) {
    if (block == NULL)
        return;
    if (curl_library_erases(block))
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
    need_library();
    return found.curl_global_init_mem(flags, malloc, wiping_free, wiping_realloc, strdup, calloc);
}
