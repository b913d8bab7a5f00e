// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL, which is loaded on demand. library.c defines the functions that this package uses.
#pragma once
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

/// Loads OpenSSL, if it is not loaded; returns NULL, or the reason of a failure.
///
/// The reason is valid until the next call on the same thread. May block on the disk.
const char *openssl_library_load(void);

bool openssl_library_is_loaded(void);

/// Returns true if ALPN (RFC 7301) negotiated HTTP/2.
static inline bool tls_uses_http2(const void *connection) {
    const unsigned char *name = NULL;
    unsigned length = 0;
    if (connection != NULL) SSL_get0_alpn_selected(connection, &name, &length);
    return length == 2 && name[0] == 'h' && name[1] == '2';
}
