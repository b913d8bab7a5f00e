// SPDX-License-Identifier: Apache-2.0

/// The long part of `--help`: prose is wrapped by the terminal's width, tables fit 80 columns.
enum Manual {
    /// What options alone do not say.
    static let discussion = """
        Answers the HTTPDNS protocols of Tencent Cloud, Alibaba EMAS, Baidu and Volcengine, and \
        DNS in JSON, from a zone file. Rehearse with it what your resolver does when a vendor is \
        slow, wrong or gone, without an account.

          httpdns-emulator --zone names.zone --fault delay=800:every:3
          curl 'http://127.0.0.1:8053/d?dn=www.example.com&token=987654321&ttl=1'
          curl 'http://127.0.0.1:8053/100000/d?host=www.example.com&query=4,6'
          curl 'http://127.0.0.1:8053/resolve?name=alias.example.com&type=AAAA'

        It speaks HTTP/1.1 without TLS; for HTTPS and HTTP/2 put a proxy such as nginx in front \
        (the last address in X-Forwarded-For is then the client). When it is ready it prints \
        'listening on ADDR:PORT' to stdout. SIGHUP reads the zone again, SIGTERM and SIGINT end it.

        VENDORS
        All of them at once, told apart by path, and /resolve by its parameters.

          Tencent     /d, /conf
          Alibaba v1  /ACCOUNT/d, sign_d, resolve, sign_resolve, ss
          Alibaba v2  /v2/d (m=0, 1, 2; signed or not)
          Baidu       /v4/resolve
          Volcengine  /resolve with domain and account_id
          JSON        /resolve?name=..., and /dns-query?name=... with
                      'Accept: application/dns-json' (Google, Cloudflare,
                      DNSPod, AliDNS; uid, ak, key and ts are checked if sent)

        ACCOUNTS
        Each vendor knows one. --account takes lines 'FIELD = VALUE', '#' begins a comment; then \
        --set counts, then the vendor's own options.

        \(accounts)

        ZONE
        One line per address; ';' begins a comment.

          NAME TTL A|AAAA ADDRESS               an address
          NAME TTL A|AAAA ADDRESS subnet=NET/N  for clients of that subnet only
          NAME TTL CNAME TARGET                 an alias; vendors send what is at its
                                                end, JSON sends the way there
          NAME empty                            registered, but without addresses

        A file named *.json is {"NAME": {"A": [...], "AAAA": [...], "CNAME": TARGET, "ttl": N}, \
        ...}, without what a name does not have.

        '*.example.com' covers all names below that have no line. A name without a line is \
        not registered: its answer is empty, and a batch has nothing for it; JSON says NXDOMAIN.

        Without --zone there are the names of the vendors' examples (cloud.tencent.com, \
        www.qq.com, www.dnspod.cn, www.aliyun.com, www.taobao.com, www.baidu.com, www.a.com, \
        www.b.com), and below example.com: www, four (no AAAA), six (no A), none (empty), alias \
        (CNAME of www), near (differs for 203.0.113.0/24).

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
          error=CODE             the vendor's own error, see ERRORS
          redirect=URL           status 302 to URL
          wrong-name[=NAME]      echoes NAME (wrong.example) instead of the name
          zero-address           0.0.0.0 and :: for each address
          ttl=TEXT               TEXT for each TTL
          wrong-key              encrypts with a key nobody has
          bad-padding            encrypts with impossible padding, or a wrong tag

        All conditions must hold; without one a fault always happens.

          :every:N               each N-th call that :name: and :path: let through
          :first:N               the first N of them
          :name:NAME             calls for NAME
          :path:PATH             calls of PATH, as /conf; else only lookups
          :probability:P         by chance, 0...1; --seed makes it repeatable

        ERRORS
        What requests run into by themselves, and error=CODE provokes:

          Alibaba     {"code":CODE} with 400 (MissingArgument, InvalidHost,
                      TooManyHosts, LimitExceeded, SdnsNotSupported), 403
                      (InvalidAccount, AccountNotExists, InvalidSignature,
                      SignatureExpired, InvalidDuration, ServiceLevelDeny,
                      UnsignedInterfaceDisabled), 405 (MethodNotAllowed) or
                      500 (InternalError); any other CODE with 403
          Baidu       {"msg":CODE} with 200
          JSON        an RCODE by name or number is the Status; any other
                      CODE is {"code":CODE} with 403, as AliDNS writes it
          Tencent,    CODE is the status, without content
          Volcengine

        WHILE IT RUNS
        On the same address, so that nothing needs a restart:

          POST /_emulator/faults  replaces all faults: one per line, none clears
          GET  /_emulator/faults  lists them
          GET  /_emulator/calls   JSON, counted before any fault: lookups, paths,
                                  names, channels, connections, faults, last call
                                  (with parameters: tokens too), zone
                                  Channels are tencent-token, -aes, -des;
                                  alibaba-v1, -v2-m0, -v2-m1, -v2-m2, -ss,
                                  each also with -signed; baidu; volcengine;
                                  json-resolve, -dns-query, -alidns (signed);
                                  and VENDOR-refused
          POST /_emulator/reset   sets these counters to zero
          POST /_emulator/reload  reads the zone again; 400 and the old if wrong
          POST /_emulator/clock   sets --clock-offset to the number sent

          curl --data-binary status=429,3:first:2 127.0.0.1:8053/_emulator/faults

        WHERE THE VENDORS' DOCUMENTS ARE SILENT
        Tencent: a wrong id or token, or an expired signature, gets --refusal. What cannot be \
        understood or decrypted gets status 200 without content: an unknown type or alg, a doubled \
        parameter, more than 8 names, token and alg together, a malformed name. The last lines of \
        a batch that would pass 8 KiB are left out. 'ip=' may be plain or encrypted. A lookup \
        without id and token, the vendor's old free form, is a wrong account.

        Alibaba: what cannot be understood or decrypted is MissingArgument; a wrong account is \
        AccountNotExists in v1 and InvalidAccount in v2; a sixth name is LimitExceeded in v1 and \
        TooManyHosts in v2; exp and t end within 24 h; sdns- parameters come back as extra.

        Baidu: the texts of errors are ours, and type is ipv4, ipv6 or dual_stack as its SDK says. \
        Volcengine: several names get an array of what one gets, type is A, AAAA or both by \
        default; svc_meta is left out. AliDNS: key is the SHA-256 of uid, secret, ts, name and \
        ak, ts may be 10 minutes off.
        """

    /// The fields of accounts with their demo values, those that fill a line on one of their own.
    private static let accounts = Account.Field.allCases.map { field in
        let name = field.rawValue + String(repeating: " ", count: 18 - field.rawValue.count)
        let fits = field.demo.count <= 50
        return "  \(fits ? name : field.rawValue + "\n    ")\(field.demo)"
    }
    .joined(separator: "\n")
}
