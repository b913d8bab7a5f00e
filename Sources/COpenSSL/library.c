// SPDX-License-Identifier: Apache-2.0
//
// Lazy loading of OpenSSL, which takes 2 million instructions. Each function here forwards to the
// library.
#define _GNU_SOURCE
#include "COpenSSL.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

// libssl depends on libcrypto, so dlsym also finds the functions of libcrypto.
#define LIBRARY "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)
#define LAZY(verb) openssl_library_##verb

// Result type, name, parameters, arguments.
#define FUNCTIONS(EACH)                                                                                \
    EACH(void, BIO_clear_flags, (BIO *b, int flags), (b, flags))                                       \
    EACH(void, BIO_copy_next_retry, (BIO *b), (b))                                                     \
    EACH(long, BIO_ctrl, (BIO *bp, int cmd, long larg, void *parg), (bp, cmd, larg, parg))             \
    EACH(size_t, BIO_ctrl_pending, (BIO *b), (b))                                                      \
    EACH(void *, BIO_get_data, (BIO *a), (a))                                                          \
    EACH(int, BIO_get_new_index, (void), ())                                                           \
    EACH(BIO_METHOD *, BIO_meth_new, (int type, const char *name), (type, name))                       \
    EACH(int, BIO_meth_set_ctrl, (BIO_METHOD *biom, long (*ctrl)(BIO *, int, long, void *)),           \
         (biom, ctrl))                                                                                 \
    EACH(int, BIO_meth_set_destroy, (BIO_METHOD *biom, int (*destroy)(BIO *)), (biom, destroy))        \
    EACH(int, BIO_meth_set_read, (BIO_METHOD *biom, int (*read)(BIO *, char *, int)), (biom, read))    \
    EACH(int, BIO_meth_set_write, (BIO_METHOD *biom, int (*write)(BIO *, const char *, int)),          \
         (biom, write))                                                                                \
    EACH(int, BIO_method_type, (const BIO *b), (b))                                                    \
    EACH(BIO *, BIO_new, (const BIO_METHOD *type), (type))                                             \
    EACH(BIO *, BIO_next, (BIO *b), (b))                                                               \
    EACH(BIO *, BIO_push, (BIO *b, BIO *append), (b, append))                                          \
    EACH(int, BIO_read, (BIO *b, void *data, int dlen), (b, data, dlen))                               \
    EACH(const BIO_METHOD *, BIO_s_mem, (void), ())                                                    \
    EACH(void, BIO_set_data, (BIO *a, void *ptr), (a, ptr))                                            \
    EACH(void, BIO_set_flags, (BIO *b, int flags), (b, flags))                                         \
    EACH(void, BIO_set_init, (BIO *a, int init), (a, init))                                            \
    EACH(int, BIO_up_ref, (BIO *a), (a))                                                               \
    EACH(int, BIO_write, (BIO *b, const void *data, int dlen), (b, data, dlen))                        \
    EACH(int, CRYPTO_get_ex_new_index, (int class_index, long argl, void *argp,                        \
         CRYPTO_EX_new *new_func, CRYPTO_EX_dup *dup_func, CRYPTO_EX_free *free_func),                 \
         (class_index, argl, argp, new_func, dup_func, free_func))                                     \
    EACH(int, CRYPTO_memcmp, (const void *in_a, const void *in_b, size_t len), (in_a, in_b, len))      \
    EACH(void, ERR_clear_error, (void), ())                                                            \
    EACH(unsigned long, ERR_peek_last_error, (void), ())                                               \
    EACH(int, ERR_pop_to_mark, (void), ())                                                             \
    EACH(const char *, ERR_reason_error_string, (unsigned long e), (e))                                \
    EACH(int, ERR_set_mark, (void), ())                                                                \
    EACH(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *ctx, int type, int arg, void *ptr),                \
         (ctx, type, arg, ptr))                                                                        \
    EACH(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX *c), (c))                                          \
    EACH(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), ())                                             \
    EACH(int, EVP_CIPHER_CTX_set_padding, (EVP_CIPHER_CTX *c, int pad), (c, pad))                      \
    EACH(EVP_CIPHER *, EVP_CIPHER_fetch, (OSSL_LIB_CTX *ctx, const char *algorithm,                    \
         const char *properties), (ctx, algorithm, properties))                                        \
    EACH(void, EVP_CIPHER_free, (EVP_CIPHER *cipher), (cipher))                                        \
    EACH(int, EVP_CIPHER_get_block_size, (const EVP_CIPHER *cipher), (cipher))                         \
    EACH(int, EVP_CIPHER_get_iv_length, (const EVP_CIPHER *cipher), (cipher))                          \
    EACH(int, EVP_CIPHER_get_key_length, (const EVP_CIPHER *cipher), (cipher))                         \
    EACH(int, EVP_CipherFinal_ex, (EVP_CIPHER_CTX *ctx, unsigned char *outm, int *outl),               \
         (ctx, outm, outl))                                                                            \
    EACH(int, EVP_CipherInit_ex2, (EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher,                      \
         const unsigned char *key, const unsigned char *iv, int enc, const OSSL_PARAM params[]),       \
         (ctx, cipher, key, iv, enc, params))                                                          \
    EACH(int, EVP_CipherUpdate, (EVP_CIPHER_CTX *ctx, unsigned char *out, int *outl,                   \
         const unsigned char *in, int inl), (ctx, out, outl, in, inl))                                 \
    EACH(int, EVP_Q_digest, (OSSL_LIB_CTX *libctx, const char *name, const char *propq,                \
         const void *data, size_t datalen, unsigned char *md, size_t *mdlen),                          \
         (libctx, name, propq, data, datalen, md, mdlen))                                              \
    EACH(unsigned char *, EVP_Q_mac, (OSSL_LIB_CTX *libctx, const char *name, const char *propq,       \
         const char *subalg, const OSSL_PARAM *params, const void *key, size_t keylen,                 \
         const unsigned char *data, size_t datalen, unsigned char *out, size_t outsize,                \
         size_t *outlen),                                                                              \
         (libctx, name, propq, subalg, params, key, keylen, data, datalen, out, outsize, outlen))      \
    EACH(void, OSSL_LIB_CTX_free, (OSSL_LIB_CTX *context), (context))                                  \
    EACH(OSSL_LIB_CTX *, OSSL_LIB_CTX_new, (void), ())                                                 \
    EACH(OSSL_PROVIDER *, OSSL_PROVIDER_load, (OSSL_LIB_CTX *context, const char *name),               \
         (context, name))                                                                              \
    EACH(int, OSSL_PROVIDER_set_default_search_path, (OSSL_LIB_CTX *context, const char *path),        \
         (context, path))                                                                              \
    EACH(int, OSSL_PROVIDER_unload, (OSSL_PROVIDER *prov), (prov))                                     \
    EACH(const char *, OpenSSL_version, (int type), (type))                                            \
    EACH(int, RAND_bytes, (unsigned char *buf, int num), (buf, num))                                   \
    EACH(long, SSL_CTX_ctrl, (SSL_CTX *ctx, int cmd, long larg, void *parg),                           \
         (ctx, cmd, larg, parg))                                                                       \
    EACH(void, SSL_CTX_free, (SSL_CTX *context), (context))                                            \
    EACH(X509_VERIFY_PARAM *, SSL_CTX_get0_param, (SSL_CTX *ctx), (ctx))                               \
    EACH(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *meth), (meth))                                     \
    EACH(void, SSL_CTX_set1_cert_store, (SSL_CTX *context, X509_STORE *store), (context, store))       \
    EACH(int, SSL_CTX_set_alpn_protos, (SSL_CTX *ctx, const unsigned char *protos,                     \
         unsigned int protos_len), (ctx, protos, protos_len))                                          \
    EACH(int, SSL_CTX_set_cipher_list, (SSL_CTX *context, const char *str), (context, str))            \
    EACH(void, SSL_CTX_set_msg_callback,                                                               \
         (SSL_CTX *ctx, void (*cb)(int, int, int, const void *, size_t, SSL *, void *)),               \
         (ctx, cb))                                                                                    \
    EACH(uint64_t, SSL_CTX_set_options, (SSL_CTX *ctx, uint64_t op), (ctx, op))                        \
    EACH(void, SSL_CTX_set_verify, (SSL_CTX *ctx, int mode, SSL_verify_cb callback),                   \
         (ctx, mode, callback))                                                                        \
    EACH(void, SSL_SESSION_free, (SSL_SESSION *ses), (ses))                                            \
    EACH(int, SSL_SESSION_is_resumable, (const SSL_SESSION *s), (s))                                   \
    EACH(long, SSL_ctrl, (SSL *ssl, int cmd, long larg, void *parg), (ssl, cmd, larg, parg))           \
    EACH(int, SSL_do_handshake, (SSL *s), (s))                                                         \
    EACH(void, SSL_free, (SSL *ssl), (ssl))                                                            \
    EACH(void, SSL_get0_alpn_selected, (const SSL *ssl, const unsigned char **data,                    \
         unsigned int *len), (ssl, data, len))                                                         \
    EACH(X509_VERIFY_PARAM *, SSL_get0_param, (SSL *ssl), (ssl))                                       \
    EACH(SSL_SESSION *, SSL_get1_session, (SSL *ssl), (ssl))                                           \
    EACH(int, SSL_get_error, (const SSL *s, int ret_code), (s, ret_code))                              \
    EACH(void *, SSL_get_ex_data, (const SSL *ssl, int idx), (ssl, idx))                               \
    EACH(long, SSL_get_verify_result, (const SSL *ssl), (ssl))                                         \
    EACH(const char *, SSL_get_version, (const SSL *s), (s))                                           \
    EACH(BIO *, SSL_get_rbio, (const SSL *s), (s))                                                     \
    EACH(BIO *, SSL_get_wbio, (const SSL *s), (s))                                                     \
    EACH(int, SSL_in_init, (const SSL *s), (s))                                                        \
    EACH(SSL *, SSL_new, (SSL_CTX *ctx), (ctx))                                                        \
    EACH(int, SSL_read, (SSL *ssl, void *buf, int num), (ssl, buf, num))                               \
    EACH(int, SSL_session_reused, (const SSL *s), (s))                                                 \
    EACH(int, SSL_set1_host, (SSL *s, const char *hostname), (s, hostname))                            \
    EACH(void, SSL_set_bio, (SSL *s, BIO *rbio, BIO *wbio), (s, rbio, wbio))                           \
    EACH(void, SSL_set_connect_state, (SSL *s), (s))                                                   \
    EACH(int, SSL_set_ex_data, (SSL *ssl, int idx, void *data), (ssl, idx, data))                      \
    EACH(void, SSL_set_hostflags, (SSL *s, unsigned int flags), (s, flags))                            \
    EACH(int, SSL_set_session, (SSL *to, SSL_SESSION *session), (to, session))                         \
    EACH(void, SSL_set_shutdown, (SSL *ssl, int mode), (ssl, mode))                                    \
    EACH(int, SSL_shutdown, (SSL *s), (s))                                                             \
    EACH(int, SSL_version, (const SSL *ssl), (ssl))                                                    \
    EACH(int, SSL_write, (SSL *ssl, const void *buf, int num), (ssl, buf, num))                        \
    EACH(const SSL_METHOD *, TLS_client_method, (void), ())                                            \
    EACH(void, X509_STORE_free, (X509_STORE *v), (v))                                                  \
    EACH(int, X509_STORE_load_file, (X509_STORE *ctx, const char *file), (ctx, file))                  \
    EACH(int, X509_STORE_load_path, (X509_STORE *ctx, const char *path), (ctx, path))                  \
    EACH(X509_STORE *, X509_STORE_new, (void), ())                                                     \
    EACH(int, X509_VERIFY_PARAM_set1_ip_asc, (X509_VERIFY_PARAM *param, const char *ipasc),            \
         (param, ipasc))                                                                               \
    EACH(int, X509_VERIFY_PARAM_set_flags, (X509_VERIFY_PARAM *param, unsigned long flags),            \
         (param, flags))                                                                               \
    EACH(const char *, X509_get_default_cert_dir, (void), ())                                          \
    EACH(const char *, X509_get_default_cert_file, (void), ())                                         \
    EACH(const char *, X509_verify_cert_error_string, (long n), (n))

#include "../CLinux/lazy.h"

#define EACH(result, name, parameters, arguments)                                                      \
    STAND_IN result name parameters {                                                                  \
        need_library();                                                                                \
        return found.name arguments;                                                                   \
    }
FUNCTIONS(EACH)
#undef EACH
