// SPDX-License-Identifier: Apache-2.0
//
// Buffers for the output of libcurl's TLS connections; used on the service loop only.
#pragma once
#include <curl/curl.h>
#include <stdbool.h>

void curl_output_opened(int socket);

/// Discards the buffered octets of a socket, which is closed next.
void curl_output_closed(int socket);

/// Adds an output buffer to the TLS connection of `easy`; idempotent.
///
/// The ports and `peer` identify the socket. Without a match, no buffer is added.
void curl_output_buffer(CURL *easy, const char *peer, int peer_port, int local_port);

/// Returns false if the send buffer of a socket is full.
bool curl_output_send(void);
