// SPDX-License-Identifier: Apache-2.0
//
// Typed functions for the variadic calls of libcurl, which Swift cannot call.
#pragma once
#include "buffers.h"
#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>

/// Loads libcurl, if it is not loaded; returns NULL, or the reason of a failure.
///
/// The reason is valid until the next call on the same thread. May block on the disk.
const char *curl_library_load(void);

bool curl_library_is_loaded(void);

/// Returns true if libcurl's `free` erases the block. For tests.
bool curl_library_erases(void *block);

/// A result other than `size * count` aborts the transfer.
typedef size_t (*curl_data_callback)(char *data, size_t size, size_t count, void *owner);

static inline CURLcode curl_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_easy_set_data_callbacks(CURL *easy, curl_data_callback body,
                                                    curl_data_callback header, void *owner) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, owner);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, owner);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
}

static inline CURLcode curl_easy_set_socket_callbacks(CURL *easy, curl_opensocket_callback open,
                                                      curl_closesocket_callback close,
                                                      void *owner) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, owner);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, owner);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close);
}

/// Runs before each transmission of the request.
static inline CURLcode curl_easy_set_sending_callback(CURL *easy, curl_prereq_callback value,
                                                      void *owner) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, owner);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

/// Runs for each new `SSL_CTX`.
static inline CURLcode curl_easy_set_tls_callback(CURL *easy, curl_ssl_ctx_callback value,
                                                  void *owner) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, owner);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}

static inline CURLcode curl_easy_set_body(CURL *easy, const void *octets, size_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, octets);
}

static inline CURLcode curl_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline void *curl_easy_get_owner(CURL *easy) {
    char *owner = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner) == CURLE_OK ? owner : NULL;
}

static inline CURLcode curl_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/// Returns the `SSL` object of OpenSSL, or NULL.
static inline void *curl_easy_get_tls(CURL *easy) {
    struct curl_tlssessioninfo *tls = NULL;
    if (easy == NULL || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK)
        return NULL;
    return tls != NULL && tls->backend == CURLSSLBACKEND_OPENSSL ? tls->internals : NULL;
}

/// Returns false if `text` must be parsed, because libcurl changes escaped octets, and `#` ends the
/// query.
///
/// `base` is the parsed URL with the question mark.
static inline bool curl_url_set_query(CURLU *parsed, const char *base, const char *text) {
    const size_t length = strlen(base);
    if (parsed == NULL || strncmp(text, base, length) != 0)
        return false;
    const char *query = text + length;
    return *query != 0 && strpbrk(query, "%#") == NULL &&
           curl_url_set(parsed, CURLUPART_QUERY, query, 0) == CURLUE_OK;
}

static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback value,
                                                       void *owner) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, owner);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}

static inline CURLMcode curl_multi_set_timer_callback(CURLM *multi,
                                                      curl_multi_timer_callback value,
                                                      void *owner) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, owner);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}
