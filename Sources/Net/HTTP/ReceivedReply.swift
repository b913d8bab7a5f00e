// SPDX-License-Identifier: Apache-2.0
import CCurl

/// What has come of a reply, written by libcurl's callbacks.
///
/// Isolated to nothing, as these are called by C for every header line: whoever owns it is on the
/// service loop, and so is libcurl.
// SAFETY: the handle that owns it lives while libcurl knows it; libcurl is called on the loop only.
@safe
final class ReceivedReply {
    let limits: HTTPClient.Limits

    /// What all replies of the client hold.
    private let memory: ReplyMemory

    private(set) var body: [UInt8] = []
    private(set) var headers = ReplyHeaders()

    /// Why a callback broke the transfer off.
    private(set) var fault: HTTPError?

    /// Makes the beginning of a reply.
    init(_ limits: HTTPClient.Limits, _ memory: ReplyMemory) {
        self.limits = limits
        self.memory = memory
    }

    /// Forgets an earlier reply.
    func begin() {
        memory.octets -= body.count
        body = []
        headers = ReplyHeaders()
        fault = nil
    }

    /// Has libcurl call back.
    func attach(to easy: UnsafeMutableRawPointer) {
        let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe curl_easy_set_pointer(easy, CURLOPT_WRITEDATA, owner)
        unsafe curl_easy_set_pointer(easy, CURLOPT_HEADERDATA, owner)
        unsafe curl_easy_set_data_callback(easy, CURLOPT_WRITEFUNCTION) {
            data,
            size,
            count,
            owner in
            unsafe ReceivedReply.receive(data, size * count, owner) { unsafe $0.takeBody($1) }
        }
        unsafe curl_easy_set_data_callback(easy, CURLOPT_HEADERFUNCTION) {
            data,
            size,
            count,
            owner in
            unsafe ReceivedReply.receive(data, size * count, owner) { unsafe $0.takeHeader($1) }
        }
    }

    /// Hands what libcurl received to the reply that it is part of.
    private static func receive(
        _ data: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        _ owner: UnsafeMutableRawPointer?,
        _ take: (ReceivedReply, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let owner = unsafe owner else { return 0 }
        LoopExecutor.shared.checkIsolated()
        // SAFETY: the owner is the reply, see the type; `data` has `count` octets.
        let reply = unsafe Unmanaged<ReceivedReply>.fromOpaque(owner).takeUnretainedValue()
        let octets = unsafe UnsafeRawBufferPointer(start: data, count: count)
        return unsafe take(reply, octets) ? count : -1
    }

    /// Adds to the body; false breaks the transfer off.
    private func takeBody(_ octets: UnsafeRawBufferPointer) -> Bool {
        guard body.count + octets.count <= limits.bodyOctets else {
            fault = .bodyTooLarge(limit: limits.bodyOctets)
            return false
        }
        guard memory.octets + octets.count <= limits.receivedOctets else {
            fault = .broken("more than \(limits.receivedOctets) octets of replies at one time")
            return false
        }
        memory.octets += octets.count
        unsafe body.append(contentsOf: octets)
        return true
    }

    /// Reads a header line; false breaks the transfer off.
    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        // SAFETY: the line lives during the call.
        headers.take(unsafe RawSpan(_unsafeBytes: line))
        if headers.octets > limits.headerOctets {
            fault = .broken("more than \(limits.headerOctets) octets of headers")
        } else if headers.isEncoded {
            fault = .broken("the body has a content encoding that was not asked for")
        }
        return fault == nil
    }
}

/// Octets of the bodies that are being received, of all replies of one client.
final class ReplyMemory {
    var octets = 0
}
