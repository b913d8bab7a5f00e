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
/// The ports and `peer` identify the socket. If no socket has these ports and this peer, no buffer is
/// added. With `reads_ahead`, the buffer reads more from an HTTP/2 connection than OpenSSL asks for.
/// The kernel does not report these octets as readable (see `curl_buffers_are_unread`).
void curl_buffers_add(CURL *easy, const char *peer, int peer_port, int local_port, bool reads_ahead);

/// Returns false if the send buffer of a socket is full.
bool curl_buffers_send(void);

/// Returns true if the read-ahead buffer of the socket has octets, so that libcurl must be called.
///
/// Returns false if the latest libcurl call took no octets from this buffer, and `has_progress` is
/// false. `has_progress` means that the call delivered octets of a reply: libcurl can first deliver
/// octets that it has read earlier.
bool curl_buffers_are_unread(int socket, bool has_progress);
