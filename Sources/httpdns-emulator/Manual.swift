// SPDX-License-Identifier: Apache-2.0

/// Text below the options in `--help`; tables fit 80 columns.
enum Manual {
    static let discussion = """
        Serves the HTTPDNS protocols of Tencent Cloud, Alibaba EMAS, Baidu and Volcengine, and \
        DNS in JSON, from a zone file and with injected faults. No vendor account is needed.

          httpdns-emulator --zone names.zone --fault delay=800:every:3
          curl 'http://127.0.0.1:8053/d?dn=www.example.com&token=987654321&ttl=1'
          curl 'http://127.0.0.1:8053/100000/d?host=www.example.com&query=4,6'
          curl 'http://127.0.0.1:8053/resolve?name=alias.example.com&type=AAAA'

        The server speaks HTTP/1.1 without TLS. For HTTPS and HTTP/2 use a proxy such as nginx; \
        the last address in X-Forwarded-For is then the client. When ready, the server prints \
        'listening on ADDR:PORT'. SIGHUP reloads the zone.

        VENDORS
        The path selects the vendor; for /resolve, the parameters do.

          Tencent     /d, /conf
          Alibaba v1  /ACCOUNT/d, sign_d, resolve, sign_resolve, ss
          Alibaba v2  /v2/d (m=0, 1, 2; signed or not)
          Baidu       /v4/resolve
          Volcengine  /resolve with domain and account_id
          JSON        /resolve?name=..., and /dns-query?name=... with
                      'Accept: application/dns-json' (Google, Cloudflare,
                      DNSPod, AliDNS; uid, ak, key and ts are checked if sent)

        ACCOUNTS
        --account reads lines 'FIELD = VALUE'; '#' starts a comment. --set overrides the file, and \
        options such as --id override --set.

        \(accounts)

        ZONE
        One line per address; ';' starts a comment.

          NAME TTL A|AAAA ADDRESS               address
          NAME TTL A|AAAA ADDRESS subnet=NET/N  only for clients of that subnet
          NAME TTL CNAME TARGET                 alias; HTTPDNS vendors return the
                                                addresses, JSON also the chain
          NAME empty                            registered, without addresses

        A file named *.json is {"NAME": {"A": [...], "AAAA": [...], "CNAME": TARGET, "ttl": N}, \
        ...}; only "ttl" is required.

        '*.example.com' covers all names below example.com without a line. A name without a line \
        is not registered: its answer is empty, a batch omits it, and JSON returns NXDOMAIN.

        The default zone has the names of the vendors' examples (cloud.tencent.com, www.qq.com, \
        www.dnspod.cn, www.aliyun.com, www.taobao.com, www.baidu.com, www.a.com, www.b.com), and \
        below example.com: www, four (no AAAA), six (no A), none (empty), alias (CNAME of www), \
        near (differs for 203.0.113.0/24).

        FAULTS
        KIND[=VALUE][:CONDITION]... Several faults combine.

          delay=MS               delays the answer by MS milliseconds
          silent                 reads the request, never answers
          close                  closes the connection (FIN) without an answer
          reset                  resets the connection (RST)
          truncated[=OCTETS]     announces all content, sends OCTETS (default: half)
          noise                  sends octets that are not HTTP, and closes
          garbage                status 200, random content
          empty                  status 200, no content
          huge=OCTETS            content padded to OCTETS
          gzip                   content in gzip, even if not requested
          status=CODE[,SECONDS]  other status; SECONDS is the Retry-After (without
                                 it, 1 s for 429 and 503, none for others)
          error=CODE             the vendor's own error, see ERRORS
          redirect=URL           status 302 to URL
          wrong-name[=NAME]      returns NAME (wrong.example) instead of the name
          zero-address           0.0.0.0 and :: for each address
          ttl=TEXT               TEXT for each TTL
          wrong-key              encrypts with an unknown key
          bad-padding            encrypts with invalid padding, or a wrong tag

        All conditions must hold.

          :every:N               each N-th call that meets :name: and :path:
          :first:N               the first N calls that meet :name: and :path:
          :name:NAME             calls for NAME
          :path:PATH             calls of PATH, e.g. /conf; default: only lookups
          :probability:P         random with probability P (0-1), see --seed

        ERRORS
        For invalid requests and the fault error=CODE:

          Alibaba     {"code":CODE} with 400 (MissingArgument, InvalidHost,
                      TooManyHosts, LimitExceeded, SdnsNotSupported), 403
                      (InvalidAccount, AccountNotExists, InvalidSignature,
                      SignatureExpired, InvalidDuration, ServiceLevelDeny,
                      UnsignedInterfaceDisabled), 405 (MethodNotAllowed) or
                      500 (InternalError); any other CODE with 403
          Baidu       {"msg":CODE} with 200
          JSON        an RCODE (name or number) is the field Status; any other
                      CODE is {"code":CODE} with 403, as in AliDNS
          Tencent,    CODE is the HTTP status, without content
          Volcengine

        CONTROL
        Requests that control the running server:

          POST /_emulator/faults  replace all faults: one per line, none clears
          GET  /_emulator/faults  list the faults
          GET  /_emulator/calls   JSON, counted before any fault: lookups, paths,
                                  names, channels, connections, faults, last call
                                  (with parameters, including tokens), zone
                                  Channels are tencent-token, -aes, -des;
                                  alibaba-v1, -v2-m0, -v2-m1, -v2-m2, -ss,
                                  each also with -signed; baidu; volcengine;
                                  json-resolve, -dns-query, -alidns (signed);
                                  alibaba-api;
                                  and VENDOR-refused
          GET  /_emulator/bill    JSON, see BILLING: {"units": N, "names": {NAME:
                                  {"a": N, "aaaa": N, "other": N}}}
          POST /_emulator/reset   set these counters and the bill to zero
          POST /_emulator/reload  reload the zone; 400 keeps the old zone
          POST /_emulator/clock   set --clock-offset to the number sent

          The first two lookups get status 429 with Retry-After: 3:
          curl --data-binary status=429,3:first:2 127.0.0.1:8053/_emulator/faults

        BILLING
        By the vendors' published rules, read on 2026-11-23:

          VENDOR             UNIT                              HTTP  HTTPS
          Alibaba            name and family with an address   1     5
          Alibaba, m=1, m=2  the same, with AES                3     8
          Baidu              name with an address              1     5
          JSON               request; --json-billing alidns    1     5
          JSON               request; --json-billing request   1     1
          Tencent,           request; the vendors' units are   1     1
          Volcengine         not known

        Refused calls, service addresses (ss, /conf) and replies with a status other than 200 are \
        free. A reply with status 200 that a fault delays, damages or drops is billed. error=CODE \
        has no addresses, but counts as a request if its status is 200. A request is HTTPS if the \
        proxy sends 'X-Forwarded-Proto: https'.

        A unit for several names counts for the first name; a unit for both families for A, or for \
        AAAA if only that has an address. 'other' is for other record types of JSON. \
        Zeros are omitted.

        UNDOCUMENTED BEHAVIOUR
        Tencent: a wrong id or token, or an expired signature, gets the status of \
        --refusal. Requests with an unknown type or alg, a duplicate parameter, more than 8 names, \
        token and alg together, or a malformed name get status 200 without content. A batch \
        omits its last lines beyond 8 KiB. 'ip=' may be plain or encrypted. A lookup without id \
        and token (formerly free of charge) counts as a wrong account.

        Alibaba: a parameter that cannot be parsed or decrypted is MissingArgument; a wrong \
        account is AccountNotExists in v1 and InvalidAccount in v2; a sixth name is LimitExceeded \
        in v1 and TooManyHosts in v2; exp and t can be at most 24 h ahead; sdns- parameters are \
        returned in the field extra. The RPC call GetResolveCountSummary, at '/?Action=', counts the \
        names and families with an address since the start or the reset, in every requested period.

        Baidu: the error texts are the emulator's own, and type is ipv4, ipv6 or dual_stack, as \
        in the SDK. Volcengine: several names get an array of single answers; type is A, AAAA, or \
        both by default; svc_meta is not supported. AliDNS: key is the SHA-256 of uid, secret, ts, \
        name and ak; ts may differ by 10 minutes.
        """

    private static let accounts = Account.Field.allCases.map { field in
        let name = field.rawValue + String(repeating: " ", count: 20 - field.rawValue.count)
        let fits = field.demo.count <= 48
        return "  \(fits ? name : field.rawValue + "\n    ")\(field.demo)"
    }
    .joined(separator: "\n")
}
