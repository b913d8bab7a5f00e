// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// Returns true if the connection uses HTTP/2, as negotiated with ALPN (RFC 7301).
static inline _Bool tls_uses_http2(const void *connection) {
    const unsigned char *name = NULL;
    unsigned length = 0;
    if (connection != NULL) SSL_get0_alpn_selected(connection, &name, &length);
    return length == 2 && name[0] == 'h' && name[1] == '2';
}
