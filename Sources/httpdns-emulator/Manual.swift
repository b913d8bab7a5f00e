// SPDX-License-Identifier: Apache-2.0

/// The long part of `--help`: prose is wrapped by the terminal's width, tables fit 80 columns.
enum Manual {
    /// What options alone do not say.
    static let discussion = """
        Answers Tencent Cloud's HTTPDNS protocol from a zone file: /d and /conf, by token (the \
        vendor's HTTPS channel), AES and DES. Rehearse with it what your resolver does when the \
        vendor is slow, wrong or gone, without an account.

          httpdns-emulator --zone names.zone --fault delay=800:every:3
          curl 'http://127.0.0.1:8053/d?dn=www.example.com&token=987654321&ttl=1'

        It speaks HTTP/1.1 without TLS; for HTTPS and HTTP/2 put a proxy such as nginx in front \
        (the last address in X-Forwarded-For is then the client). When it is ready it prints \
        'listening on ADDR:PORT' to stdout. SIGHUP reads the zone again, SIGTERM and SIGINT end it.

        ZONE
        One line per address; ';' begins a comment.

          NAME TTL A|AAAA ADDRESS               an address
          NAME TTL A|AAAA ADDRESS subnet=NET/N  for clients of that subnet only (ip=)
          NAME empty                            registered, but without addresses

        A file named *.json is {"NAME": {"A": [...], "AAAA": [...], "ttl": N}, ...}.

        '*.example.com' covers all names below that have no line. A name without a line is \
        not registered: its answer is empty, and a batch has no line for it.

        Without --zone there are cloud.tencent.com, www.qq.com and www.dnspod.cn as in the \
        vendor's examples, and below example.com: www, four (no AAAA), six (no A), none (empty), \
        near (differs for 203.0.113.0/24).

        FAULTS
        KIND[=VALUE][:CONDITION]... Several faults add up.

          delay=MS               answers late
          silent                 takes the request, never answers
          close                  closes the connection (FIN) without an answer
          reset                  resets the connection (RST)
          truncated[=OCTETS]     announces all content, sends OCTETS of it (half)
          noise                  sends octets that are not HTTP, and closes
          garbage                status 200, random content
          empty                  status 200, no content
          huge=OCTETS            content filled up to OCTETS
          gzip                   content in gzip, asked for or not
          status=CODE[,SECONDS]  another status, with Retry-After (429, 503: 1)
          redirect=URL           status 302 to URL
          wrong-name[=NAME]      echoes NAME (wrong.example) instead of the name
          zero-address           0.0.0.0 and :: for each address
          ttl=TEXT               TEXT for each TTL
          wrong-key              encrypts with a key nobody has (AES, DES)
          bad-padding            encrypts with impossible padding (AES, DES)

        All conditions must hold; without one a fault always happens.

          :every:N               each N-th call that :name: and :path: let through
          :first:N               the first N of them
          :name:NAME             calls for NAME
          :path:PATH             calls of PATH, as /conf; else only lookups
          :probability:P         by chance, 0...1; --seed makes it repeatable

        WHILE IT RUNS
        On the same address, so that nothing needs a restart:

          POST /_emulator/faults  replaces all faults: one per line, none clears
          GET  /_emulator/faults  lists them
          GET  /_emulator/calls   JSON, counted before any fault: lookups, paths,
                                  names, channels, connections, faults, last call
                                  (with parameters: tokens too), zone
          POST /_emulator/reset   sets these counters to zero
          POST /_emulator/reload  reads the zone again; 400 and the old if wrong
          POST /_emulator/clock   sets --clock-offset to the number sent

          curl --data-binary status=429,3:first:2 127.0.0.1:8053/_emulator/faults

        WHERE THE VENDOR'S DOCUMENTS ARE SILENT
        A wrong id or token, or an expired signature, gets --refusal. What cannot be \
        understood or decrypted gets status 200 without content: an unknown type or alg, a doubled \
        parameter, more than 8 names, token and alg together, a malformed name. The last lines of \
        a batch that would pass 8 KiB are left out. 'ip=' may be plain or encrypted. A lookup \
        without id and token, the vendor's old free form, is a wrong account.
        """
}
