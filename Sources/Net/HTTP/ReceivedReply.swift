// SPDX-License-Identifier: Apache-2.0
import CCurl
private import COpenSSL

/// Received part of a reply; not isolated, because C code on the service loop uses this object.
// SAFETY: the ``EasyHandle`` that owns this object lives as long as libcurl uses the object.
// libcurl is called on the loop only.
@safe
final class ReceivedReply {
    let limits: HTTPClient.Limits

    private let memory: ReplyMemory.Share
    private let meter: LoopMeter

    private(set) var body: [UInt8] = []
    let headers = ReplyHeaders()

    private var sendings = 0

    private(set) var sent: Instant?

    /// Octets of the proxy's reply to CONNECT; nil without a tunnel, or if the tunnel is open.
    private var tunnelOctets: Int?

    private(set) var isSentOnce = false

    private(set) var fault: HTTPError?

    private var easy: UnsafeMutableRawPointer?

    /// True if the handle must not send over HTTP/1; see ``LibraryVersion/hasStaleHeaders``.
    private var requiresHTTP2 = false

    /// True if the request was not sent, because the connection does not use HTTP/2.
    private(set) var needsNewHandle = false

    init(_ limits: HTTPClient.Limits, _ memory: ReplyMemory.Share, _ meter: LoopMeter) {
        self.limits = limits
        self.memory = memory
        self.meter = meter
    }

    func begin(
        isSentOnce: Bool = false,
        isTunnelled: Bool = false,
        requiresHTTP2: Bool = false
    ) {
        self.requiresHTTP2 = requiresHTTP2
        needsNewHandle = false
        (sendings, sent) = (0, nil)
        tunnelOctets = isTunnelled ? 0 : nil
        self.isSentOnce = isSentOnce
        fault = nil
        let octets = body.count + headers.octets
        guard octets > 0 else { return }
        memory.octets -= octets
        body = []
        headers.clear()
    }

    func attach(to easy: UnsafeMutableRawPointer) {
        let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe self.easy = easy
        unsafe curl_easy_set_data_callbacks(
            easy,
            { data, size, count, owner in
                unsafe ReceivedReply.receive(data, size * count, owner) { unsafe $0.takeBody($1) }
            },
            { data, size, count, owner in
                unsafe ReceivedReply.receive(data, size * count, owner) {
                    unsafe $0.takeHeader($1)
                }
            },
            owner
        )
        let sending: curl_prereq_callback = { owner, peer, _, peerPort, localPort in
            guard let owner = unsafe owner else { return CURL_PREREQFUNC_ABORT }
            LoopExecutor.shared.checkIsolated()
            let reply = unsafe Unmanaged<ReceivedReply>.fromOpaque(owner).takeUnretainedValue()
            guard reply.takeSending() else { return CURL_PREREQFUNC_ABORT }
            if EasyHandle.sharesOpenSSL {
                unsafe curl_buffers_add(
                    reply.easy,
                    peer,
                    peerPort,
                    localPort,
                    LibraryVersion.readsToTheEnd
                )
            }
            return CURL_PREREQFUNC_OK
        }
        unsafe curl_easy_set_sending_callback(easy, sending, owner)
    }

    private func takeSending() -> Bool {
        // This or an earlier request has opened the tunnel.
        tunnelOctets = nil
        sendings += 1
        sent = Clock.now
        guard !isSentOnce || sendings == 1 else {
            fault = .cutOff(reused: true)
            return false
        }
        if requiresHTTP2 {
            // SAFETY: libcurl is preparing the transfer, so the connection is alive.
            needsNewHandle = unsafe !tls_uses_http2(curl_easy_get_tls(easy))
        }
        return !needsNewHandle
    }

    /// Returns -1 to abort the transfer.
    @inline(__always)
    private static func receive(
        _ data: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        _ owner: UnsafeMutableRawPointer?,
        _ take: (ReceivedReply, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let owner = unsafe owner else { return 0 }
        let octets = unsafe UnsafeRawBufferPointer(start: data, count: count)
        return unsafe Unmanaged<ReceivedReply>.fromOpaque(owner)._withUnsafeGuaranteedRef {
            unsafe take($0, octets) ? count : -1
        }
    }

    private func takeBody(_ octets: UnsafeRawBufferPointer) -> Bool {
        guard body.count + octets.count <= limits.bodyOctets else {
            fault = .bodyTooLarge(limit: limits.bodyOctets)
            return false
        }
        meter.gain(octets.count)
        guard memory.gain(octets.count) else {
            memory.octets -= octets.count
            return failFull()
        }
        unsafe body.append(contentsOf: octets)
        return true
    }

    private func failFull() -> Bool {
        fault = .exhausted("the replies in flight take too much memory")
        return false
    }

    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // SAFETY: the line lives during the call.
        let line = unsafe RawSpan(_unsafeBytes: line)
        if let before = tunnelOctets { return takeTunnelHeader(line, after: before) }
        let gained = headers.take(line)
        meter.gain(gained)
        guard memory.gain(gained) else { return failFull() }
        if headers.octets > limits.headerOctets {
            fault = .broken("the reply has more than \(limits.headerOctets) octets of headers")
            return false
        }
        if headers.isEncoded {
            fault = .broken("the body has a content encoding that was not requested")
            return false
        }
        return true
    }

    /// Returns false if the proxy refuses the tunnel.
    ///
    /// libcurl 7.88 would read the body of the refusal octet by octet in one call.
    private func takeTunnelHeader(_ line: RawSpan, after before: Int) -> Bool {
        let octets = before + line.byteCount
        tunnelOctets = octets
        meter.gain(line.byteCount)
        if before == 0 {
            let status = ReplyHeaders.status(line)
            guard status / 100 == 2 else {
                fault = .connect(
                    status == 0
                        ? "the proxy's reply is not HTTP" : "the proxy answers HTTP \(status)"
                )
                return false
            }
        }
        guard octets <= limits.headerOctets else {
            fault = .connect("the proxy sends more than \(limits.headerOctets) octets of headers")
            return false
        }
        return true
    }
}
