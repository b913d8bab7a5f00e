// SPDX-License-Identifier: Apache-2.0
//
// Buffers of libcurl's TLS connections; used on the service loop only.
#pragma once
#include <curl/curl.h>
#include <stdbool.h>

void curl_buffers_opened(int socket);

/// Discards the buffered octets of a socket, which is closed next.
void curl_buffers_closed(int socket);

/// Adds buffers to the TLS connection of `easy`; idempotent.
///
/// The ports and `peer` identify the socket. Without a match, no buffer is added. If `reads_ahead`,
/// more is read from an HTTP/2 connection than OpenSSL asks for; the kernel does not report these
/// octets as readable (see `curl_buffers_are_unread`).
void curl_buffers_add(CURL *easy, const char *peer, int peer_port, int local_port, bool reads_ahead);

/// Returns false if the send buffer of a socket is full.
bool curl_buffers_send(void);

/// Returns true if libcurl must be called for the socket, because octets were read ahead.
///
/// Returns false if the latest libcurl call read none of these octets, and `has_progress` is false.
/// libcurl can hand over octets of a reply that it has read earlier, before it reads further octets.
bool curl_buffers_are_unread(int socket, bool has_progress);
