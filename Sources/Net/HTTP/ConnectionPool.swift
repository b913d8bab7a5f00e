// SPDX-License-Identifier: Apache-2.0
private import CCurl
import Glibc

/// Connections of a libcurl multi handle and their transfers.
///
/// libcurl's callbacks must not call libcurl, so they only record changes (``WantedEvents``).
// SAFETY: the multi handle is made in `init` and freed once, in `deinit`; used on the loop only.
@safe
@ServiceLoop
final class ConnectionPool {
    private let multi: UnsafeMutableRawPointer

    private(set) var transfers: [Transfer] = []

    let sockets = WatchedSockets()

    private lazy var alarm = Alarm(.system) { [weak self] in self?.drive(CURL_SOCKET_BAD, []) }

    private lazy var resumption = Alarm(.system) { [weak self] in self?.resume() }

    private lazy var sending = Alarm(.system) { [weak self] in self?.sendOutput() }

    private let meter: LoopMeter
    private let isSecure: Bool

    /// True after the ``LoopBudget`` was exhausted; the connections are not reused.
    private(set) var isAbandoned = false

    var replied: (@ServiceLoop (SocketAddress) -> Void)?

    private var turns = 0

    private(set) lazy var deadlines = Alarm(.system) { [weak self] in self?.expireOverdue() }

    private lazy var nextCall = LoopWakeup { [weak self] in self?.driveUnread() }

    init(limits: HTTPClient.Limits, metering meter: LoopMeter, isSecure: Bool) {
        self.meter = meter
        self.isSecure = isSecure
        Self.initialiseOnce
        guard let made = unsafe curl_multi_init() else {
            preconditionFailure("libcurl is out of memory")
        }
        unsafe multi = made
        setOptions(limits)
        sockets.handler = { [weak self] in self?.drive($0, $1) }
    }

    isolated deinit {
        sockets.forgetAll()
        // SAFETY: no transfer is left, because each transfer retains the pool.
        unsafe curl_multi_set_socket_callback(multi, nil, nil)
        unsafe curl_multi_set_timer_callback(multi, nil, nil)
        unsafe curl_multi_cleanup(multi)
    }

    nonisolated static let initialiseOnce: Void = {
        let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        precondition(code == CURLE_OK, "libcurl cannot be initialised")
    }()

    private func setOptions(_ limits: HTTPClient.Limits) {
        // SAFETY: `sockets` outlives the multi handle.
        let owner = unsafe Unmanaged.passUnretained(sockets.wanted).toOpaque()
        unsafe curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        unsafe curl_multi_set_long(
            multi,
            CURLMOPT_MAX_CONCURRENT_STREAMS,
            limits.requestsPerConnection
        )
        unsafe curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limits.idleConnections)
        unsafe curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.connections)
        unsafe curl_multi_set_long(
            multi,
            CURLMOPT_MAX_HOST_CONNECTIONS,
            limits.connectionsPerServer
        )
        unsafe curl_multi_set_socket_callback(multi, WantedEvents.socketChanged, owner)
        unsafe curl_multi_set_timer_callback(multi, WantedEvents.timeoutChanged, owner)
    }
}

// MARK: - Transfers

extension ConnectionPool {
    func add(_ transfer: Transfer, on handle: EasyHandle) throws(HTTPError) {
        setSocketCallbacks(of: handle)
        let request = transfer.request
        if request.wantsFreshConnection, request.keepsSilentConnection {
            sockets.suspectAll(to: request.server)
        }
        // SAFETY: the handle is in no multi handle.
        let code = unsafe curl_multi_add_handle(multi, handle.easy)
        guard code == CURLM_OK else { throw .invalidRequest("libcurl rejects the request") }
        enter(transfer, on: handle)
        transfer.enter(self, after: turns)
        applyWanted()
        deadlines.bring(forward: transfer.deadline)
    }

    private func enter(_ transfer: Transfer, on handle: EasyHandle) {
        // Swaps need no run-time exclusivity checks.
        var transfers: [Transfer] = []
        swap(&transfers, &self.transfers)
        transfer.index = transfers.count
        transfers.append(transfer)
        swap(&transfers, &self.transfers)
        handle.transfer = transfer
    }

    private func leave(_ transfer: Transfer, _ handle: EasyHandle) {
        handle.transfer = nil
        guard let index = transfer.index else { return }
        transfer.index = nil
        var transfers: [Transfer] = []
        swap(&transfers, &self.transfers)
        defer { swap(&transfers, &self.transfers) }
        let last = transfers.removeLast()
        guard last !== transfer else { return }
        transfers[index] = last
        last.index = index
    }

    private func setSocketCallbacks(of handle: EasyHandle) {
        guard !handle.hasSocketCallbacks else { return }
        handle.hasSocketCallbacks = true
        // SAFETY: `sockets` outlives the multi handle and all connections.
        unsafe curl_easy_set_socket_callbacks(
            handle.easy,
            { owner, _, address in
                guard let owner = unsafe owner, let address = unsafe address else { return -1 }
                let sockets = unsafe Unmanaged<WatchedSockets>.fromOpaque(owner)
                    .takeUnretainedValue()
                let (family, type) = unsafe (address.pointee.family, address.pointee.socktype)
                let number = unsafe address.pointee.protocol
                return ServiceLoop.assumeIsolated {
                    sockets.open(family: family, type: type, protocol: number)
                }
            },
            { owner, descriptor in
                guard let owner = unsafe owner else { return 1 }
                let sockets = unsafe Unmanaged<WatchedSockets>.fromOpaque(owner)
                    .takeUnretainedValue()
                return ServiceLoop.assumeIsolated { sockets.close(descriptor) }
            },
            Unmanaged.passUnretained(sockets).toOpaque()
        )
    }

    /// Closes an HTTP/1.1 connection, or resets an HTTP/2 stream.
    func abandon(_ transfer: Transfer, _ error: HTTPError) {
        guard let handle = transfer.handle, handle.transfer === transfer else { return }
        remove(transfer, handle)
        transfer.end(.failure(error))
    }

    static let overload = HTTPError.broken("the server sends endless data that belongs to no reply")

    func abandonAll(_ error: HTTPError) {
        for transfer in transfers { abandon(transfer, error) }
    }

    /// True if libcurl has started the transfer.
    func isKnown(_ transfer: Transfer) -> Bool { transfer.turn < turns }

    /// Sends a request again if its reused connection ended without a reply; returns true if sent.
    ///
    /// A server may close a connection while a request arrives (RFC 9110 §9.2.2, RFC 9113 §8.7).
    private func sendAgain(_ transfer: Transfer) -> Bool {
        let isRepeated = transfer.handle?.received.needsNewHandle != true
        guard !transfer.isSecond || !isRepeated, Clock.now < transfer.deadline else {
            return false
        }
        var next = transfer.handle
        if LibraryVersion.hasStaleHeaders, let handles = transfer.handles {
            next?.received.begin()
            if !isRepeated { handles.dropIdle() }
            next = try? transfer.prepare(try handles.make())
        }
        guard let handle = next else { return false }
        setSocketCallbacks(of: handle)
        // SAFETY: as in `add`; libcurl is not on the stack.
        guard unsafe curl_multi_add_handle(multi, handle.easy) == CURLM_OK else { return false }
        enter(transfer, on: handle)
        transfer.beginAgain(after: turns, isSecond: isRepeated)
        return true
    }

    func remove(_ transfer: Transfer, _ handle: EasyHandle, isUnanswered: Bool = false) {
        if isKnown(transfer) {
            let opened = handle.connectionsOpened
            transfer.connectionsOpened += opened
            if isSecure, opened > 0 { meter.takeHandshake(isCharged: isUnanswered) }
            if !transfer.wasSent, handle.wasSent { transfer.wasSent = true }
        }
        leave(transfer, handle)
        // SAFETY: the handle is in this multi handle; libcurl is not on the stack.
        unsafe curl_multi_remove_handle(multi, handle.easy)
        sendOutput()
        applyWanted()
    }
}

// MARK: - Events

extension ConnectionPool {
    /// If a socket cannot be watched, ends all transfers.
    private func applyWanted() {
        if let milliseconds = sockets.wanted.takeTimeout() { wake(in: milliseconds) }
        guard sockets.wanted.hasChanges else { return }
        do throws(SocketError) {
            try sockets.applyChanges()
        } catch {
            abandonAll(.exhausted("the kernel cannot watch the socket (epoll)"))
        }
    }

    private func wake(in milliseconds: Int) {
        switch milliseconds {
        // Calls libcurl later, because one call then handles all new requests of an iteration.
        case 0: nextCall.ring()
        case 1...: alarm.set(Clock.now + .milliseconds(milliseconds))
        // libcurl soon sets the next timeout.
        default: alarm.suspend()
        }
    }

    private func sendOutput() {
        if !curl_buffers_send() { sending.set(Clock.now + .milliseconds(5)) }
    }

    private func drive(_ descriptor: Int32, _ events: DescriptorWatch.Events) {
        if let instant = meter.resumption {
            if descriptor != CURL_SOCKET_BAD { sockets.unread.insert(descriptor) }
            return suspend(until: instant)
        }
        var flags: Int32 = 0
        if !events.isDisjoint(with: [.readable, .hangUp]) { flags |= CURL_CSELECT_IN }
        if events.contains(.writable) { flags |= CURL_CSELECT_OUT }
        if events.contains(.error) { flags |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        turns += 1
        sockets.failure = 0
        meter.begin(reads: !isSecure, inFlight: transfers.count)
        // SAFETY: the multi handle is alive and libcurl is not on the stack.
        let code = unsafe curl_multi_socket_action(multi, descriptor, flags, &running)
        sendOutput()
        if meter.hasGained { sockets.noteReply(on: descriptor) }
        let time = meter.end()
        defer {
            applyWanted()
            if sockets.noteUnread(hasProgress: meter.hasGained) { nextCall.ring() }
        }
        guard code == CURLM_OK else { return abandonAll(.broken("libcurl failed")) }
        let ended = endedTransfers()
        // Not `contains`, because the isolation check of its closure takes 330 instructions.
        var (hasFailedHandshake, replies) = (false, 0)
        for end in ended {
            if EasyHandle.isHandshakeFailure(end.2) { hasFailedHandshake = true }
            if end.2 == CURLE_OK { replies += 1 }
        }
        if hasFailedHandshake {
            meter.chargeFailedHandshake()
        } else if !meter.charge(time, replies: replies, failed: ended.count - replies) {
            isAbandoned = true
        }
        applyWanted()
        for (transfer, handle, code) in ended where transfer.handle === handle {
            var result = handle.result(
                code,
                socketFailure: sockets.failure,
                since: transfer.started
            )
            let isSentAgain =
                handle.received.needsNewHandle
                || handle.wasCutOff(code) && !handle.received.isSentOnce
            transfer.port = handle.localPort
            if case .success(let reply) = result {
                let server = transfer.request.server
                sockets.replied(descriptor, reply.isHTTP1, on: transfer.port)
                replied?(server)
                transfer.wasSent = true
            }
            remove(transfer, handle, isUnanswered: handle.isUnanswered(code))
            if isAbandoned, case .failure = result {
                result = .failure(Self.overload)
            } else if isSentAgain, sendAgain(transfer) {
                continue
            }
            transfer.end(result)
        }
        if isAbandoned { abandonAll(Self.overload) }
    }

    private func suspend(until instant: Instant) {
        sockets.isSuspended = true
        resumption.set(instant)
    }

    private func resume() {
        sockets.isSuspended = false
        driveUnread()
    }

    private func driveUnread() {
        for descriptor in sockets.takeUnread() { drive(descriptor, .readable) }
        drive(CURL_SOCKET_BAD, [])
    }

    private func endedTransfers() -> [(Transfer, EasyHandle, CURLcode)] {
        var ended: [(Transfer, EasyHandle, CURLcode)] = []
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            // SAFETY: the message is valid until the next call of libcurl.
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let easy = unsafe message.pointee.easy_handle,
                let handle = unsafe EasyHandle.handle(of: easy), let transfer = handle.transfer
            else { continue }
            ended.append((transfer, handle, unsafe message.pointee.data.result))
        }
        return ended
    }
}
