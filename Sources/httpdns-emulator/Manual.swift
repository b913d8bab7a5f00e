// SPDX-License-Identifier: Apache-2.0

/// Text below the options in `--help`; tables fit 80 columns.
enum Manual {
    static let discussion = """
        Answers calls in the HTTPDNS protocols of Tencent Cloud, Alibaba EMAS, Baidu and \
        Volcengine, and in DNS over JSON. The answers come from a zone file; faults can be \
        injected. No vendor account is needed.

          httpdns-emulator --zone names.zone --fault delay=800:every:3
          curl 'http://127.0.0.1:8053/d?dn=www.example.com&token=987654321&ttl=1'
          curl 'http://127.0.0.1:8053/100000/d?host=www.example.com&query=4,6'
          curl 'http://127.0.0.1:8053/resolve?name=alias.example.com&type=AAAA'

        The server speaks HTTP/1.1 without TLS. For HTTPS and HTTP/2, use a proxy such as nginx: \
        the emulator uses the last address in X-Forwarded-For as the client's address. When \
        ready, the server prints 'listening on ADDR:PORT'. SIGHUP reloads the zone.

        VENDORS
        The path of a call selects the vendor. For /resolve, the parameters select the vendor.

          Tencent     /d, /conf
          Alibaba v1  /ACCOUNT/ and one of d, sign_d, resolve, sign_resolve, ss
          Alibaba v2  /v2/d (m=0, 1, 2; signed or not)
          Baidu       /v4/resolve
          Volcengine  /resolve with domain and account_id
          JSON        /resolve?name=..., and /dns-query?name=... with
                      'Accept: application/dns-json' (Google, Cloudflare,
                      DNSPod, AliDNS; uid, ak, key and ts are checked if sent)

        ACCOUNTS
        The file of --account has lines 'FIELD = VALUE'; '#' starts a comment. --set overrides \
        the file, and options such as --id override --set. The fields and their defaults:

        \(accounts)

        ZONE
        One line per address; ';' starts a comment.

          NAME TTL A|AAAA ADDRESS               address
          NAME TTL A|AAAA ADDRESS subnet=NET/N  address only for clients in NET/N
          NAME TTL CNAME TARGET                 alias: HTTPDNS vendors return only
                                                addresses; JSON vendors also
                                                return the CNAME records
          NAME empty                            registered name without addresses

        A file named *.json contains {"NAME": {"A": [...], "AAAA": [...], "CNAME": TARGET, \
        "ttl": N}, ...}; only "ttl" is required.

        The line of '*.example.com' is used for all names below example.com that have no line of \
        their own. Any other name without a line is not registered: the reply has no address, \
        the reply to a batch omits the name, and JSON returns NXDOMAIN.

        Without --zone, the zone has the names in the examples of the vendors' documents \
        (cloud.tencent.com, www.qq.com, www.dnspod.cn, www.aliyun.com, www.taobao.com, \
        www.baidu.com, www.a.com, www.b.com), and these names below example.com: www, four (no \
        AAAA), six (no A), none (no addresses), alias (CNAME with the target www), near (other \
        address for clients in 203.0.113.0/24).

        FAULTS
        A fault is KIND[=VALUE][:CONDITION]... If several faults apply to a call, they combine.

          delay=MS               delays the answer by MS milliseconds
          silent                 reads the request, but never answers
          close                  closes the connection (FIN) without an answer
          reset                  resets the connection (RST)
          truncated[=OCTETS]     sends only OCTETS of the content (default: half)
          noise                  sends octets that are not HTTP, then closes
          garbage                status 200, random content
          empty                  status 200, no content
          huge=OCTETS            pads the content to OCTETS
          gzip                   sends gzip, even if the client does not accept it
          status=CODE[,SECONDS]  sends HTTP status CODE, with Retry-After: SECONDS
                                 (default: 1 for 429 and 503, none for others)
          error=CODE             sends the vendor's error reply, see ERRORS
          redirect=URL           sends status 302 with this URL
          wrong-name[=NAME]      returns NAME instead of the queried name
                                 (default: wrong.example)
          zero-address           replaces each address by 0.0.0.0 or ::
          ttl=TEXT               replaces each TTL by TEXT
          wrong-key              encrypts with a key that the client does not have
          bad-padding            encrypts with invalid padding, or a wrong tag

        A fault applies to a call if all its conditions are true:

          :every:N               every N-th of the calls that :name: and :path: select
          :first:N               the first N calls that :name: and :path: select
          :name:NAME             calls for NAME
          :path:PATH             calls of PATH, e.g. /conf; default: only lookups
          :probability:P         random calls, with probability P (0-1), see --seed

        ERRORS
        Replies to invalid requests, and of the fault error=CODE, with their HTTP status:

          Alibaba     {"code":CODE} with 400 (MissingArgument, InvalidHost,
                      TooManyHosts, LimitExceeded, SdnsNotSupported), 403
                      (InvalidAccount, AccountNotExists, InvalidSignature,
                      SignatureExpired, InvalidDuration, ServiceLevelDeny,
                      UnsignedInterfaceDisabled), 405 (MethodNotAllowed) or
                      500 (InternalError); any other CODE with 403
          Baidu       {"msg":CODE} with 200
          JSON        if CODE is an RCODE (name or number): {"Status":CODE} with
                      200; any other CODE: {"code":CODE} with 403, as in AliDNS
          Tencent,    no content; CODE is the HTTP status
          Volcengine

        CONTROL
        Requests that control the running server:

          POST /_emulator/faults  replace all faults by the faults in the body,
                                  one per line; an empty body removes all faults
          GET  /_emulator/faults  list the faults
          GET  /_emulator/calls   print as JSON: the numbers of lookups,
                                  connections, and calls by path, name and
                                  channel (also calls that a fault damages);
                                  the faults; the last call with its parameters,
                                  including tokens; the zone.
                                  Channels are tencent-token, -aes, -des;
                                  alibaba-v1, -v2-m0, -v2-m1, -v2-m2, -ss,
                                  each also with -signed; baidu; volcengine;
                                  json-resolve, -dns-query, -alidns (signed);
                                  alibaba-api; and VENDOR-refused
          GET  /_emulator/bill    print the bill as JSON, see BILLING: {"units": N,
                                  "names": {NAME: {"a": N, "aaaa": N, "other": N}}}
          POST /_emulator/reset   set the counters and the bill to zero
          POST /_emulator/reload  reload the zone; if the new zone is invalid,
                                  keep the old zone and reply 400
          POST /_emulator/clock   set --clock-offset to the number in the body

          The first two lookups get status 429 with Retry-After: 3:
          curl --data-binary status=429,3:first:2 127.0.0.1:8053/_emulator/faults

        BILLING
        Units of each billed item, by the vendors' price pages of 2026-11-23. Families and names \
        without an address in the reply are free:

          VENDOR             BILLED ITEM                       HTTP  HTTPS
          Alibaba            family (A or AAAA)                1     5
          Alibaba, m=1, m=2  the same, encrypted               3     8
          Baidu              name                              1     5
          JSON               request, --json-billing alidns    1     5
          JSON               request, --json-billing request   1     1
          Tencent,           request (assumed: the price       1     1
          Volcengine         pages name no units)

        Refused calls, requests for service addresses (ss, /conf) and replies with a status other \
        than 200 are free. A reply with status 200 is billed even if a fault delays, damages or \
        drops it. A reply of error=CODE has no addresses, but is billed as a request if its \
        status is 200. A request counts as HTTPS if the proxy sends 'X-Forwarded-Proto: https'.

        If one request has several names, the bill lists its units under the first name. If \
        one billed item covers A and AAAA, the bill lists its units under "a", or under "aaaa" \
        if the name has only AAAA addresses. "other" counts record types other than A and \
        AAAA, which only JSON vendors answer. Counts of 0 are omitted.

        UNDOCUMENTED BEHAVIOUR
        The vendors' documents do not define the following cases; the emulator does this:

        Tencent: if the id or token is wrong, or the signature has expired, the reply has the \
        status of --refusal. If type or alg is unknown, a parameter is repeated, there are more \
        than 8 names, token and alg are both given, or a name is malformed, the reply has \
        status 200 without content. The reply to a batch ends after 8 KiB: further lines are \
        omitted. The parameter ip may be plain or encrypted. A lookup without id and token \
        (formerly free of charge at the vendor) counts as a wrong account.

        Alibaba: if a parameter cannot be parsed or decrypted, the error is MissingArgument. For \
        a wrong account, the error is AccountNotExists in v1, and InvalidAccount in v2. For more \
        than 5 names, the error is LimitExceeded in v1, and TooManyHosts in v2. The expiry times \
        exp and t can be at most 24 h ahead. Parameters that begin with sdns- are \
        returned in the field extra. The RPC call GetResolveCountSummary, at '/?Action=', \
        returns the number of billed lookups (one for each family of a name for which an \
        address was returned) since the emulator was started or reset; it ignores the \
        requested period.

        Baidu: the error texts are not the vendor's. The parameter type is ipv4, ipv6 or \
        dual_stack, as in the SDK. Volcengine: the reply for several names is an array of the \
        replies for single names. The parameter type is A or AAAA; the default is both. svc_meta \
        is not supported. AliDNS: key is the SHA-256 of uid, secret, ts, name and ak; ts may \
        differ from the emulator's clock by 10 minutes.
        """

    private static let accounts = Account.Field.allCases.map { field in
        let name = field.rawValue + String(repeating: " ", count: 20 - field.rawValue.count)
        let fits = field.demo.count <= 48
        return "  \(fits ? name : field.rawValue + "\n    ")\(field.demo)"
    }
    .joined(separator: "\n")
}
