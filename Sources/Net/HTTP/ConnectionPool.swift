// SPDX-License-Identifier: Apache-2.0
private import CCurl
import Glibc

/// One multi handle of libcurl: a cache of connections and the transfers on them.
///
/// libcurl says which descriptors and which timeout it waits for; the loop waits, and tells it.
/// libcurl must not be entered from its own callbacks, so those only note what it wants.
// SAFETY: the multi handle is made in `init` and freed once, in `deinit`; used on the loop only.
@safe
@ServiceLoop
final class ConnectionPool {
    private let multi: UnsafeMutableRawPointer

    /// The transfers under way, by handle: what keeps them alive while libcurl knows them.
    private var transfers: [UInt: Transfer] = [:]

    /// What the loop watches; an object of its own, as libcurl still closes some when the pool is on
    /// its way out.
    private let sockets = WatchedSockets()

    /// Calls libcurl when it wants to be.
    private lazy var alarm = Alarm(.system) { [weak self] in self?.drive(CURL_SOCKET_BAD, []) }

    /// How often libcurl was called.
    private var turns = 0

    /// Ends transfers at their deadlines.
    ///
    /// One for all: nearly every transfer has ended by then, and so takes no timer of its own.
    private lazy var deadlines = Alarm(.system) { [weak self] in self?.expireOverdue() }

    /// Whether libcurl is called in the next turn of the loop.
    private var isDue = false

    /// Makes an empty pool.
    init(limits: HTTPClient.Limits) {
        Self.initialiseOnce
        guard let made = unsafe curl_multi_init() else {
            preconditionFailure("libcurl is out of memory")
        }
        unsafe multi = made
        setOptions(limits)
        sockets.handler = { [weak self] in self?.drive($0, $1) }
    }

    isolated deinit {
        // Without callbacks, as there is no pool any more that they could speak to.
        sockets.forgetAll()
        // SAFETY: no transfer is left, as each holds the pool while it waits.
        unsafe curl_multi_set_socket_callback(multi, nil, nil)
        unsafe curl_multi_set_timer_callback(multi, nil, nil)
        unsafe curl_multi_cleanup(multi)
    }

    /// Initialises libcurl and OpenSSL, once a process.
    nonisolated static let initialiseOnce: Void = {
        let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        precondition(code == CURLE_OK, "libcurl cannot be initialised")
    }()

    /// Sets the bounds and the callbacks.
    private func setOptions(_ limits: HTTPClient.Limits) {
        // SAFETY: the callbacks come while the loop is in libcurl only, so while this pool lives;
        // `deinit` takes them away before it enters libcurl.
        let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
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
        unsafe curl_multi_set_socket_callback(
            multi,
            { _, descriptor, what, owner, _ in
                guard let owner = unsafe owner else { return 0 }
                let pool = unsafe Unmanaged<ConnectionPool>.fromOpaque(owner).takeUnretainedValue()
                return ServiceLoop.assumeIsolated { pool.watch(descriptor, what) }
            },
            owner
        )
        unsafe curl_multi_set_timer_callback(
            multi,
            { _, milliseconds, owner in
                guard let owner = unsafe owner else { return 0 }
                let pool = unsafe Unmanaged<ConnectionPool>.fromOpaque(owner).takeUnretainedValue()
                ServiceLoop.assumeIsolated { pool.wake(in: milliseconds) }
                return 0
            },
            owner
        )
    }
}

// MARK: - Transfers

extension ConnectionPool {
    /// Begins a transfer on a handle that is prepared; the transfer is told the end.
    func add(_ transfer: Transfer, on handle: EasyHandle) throws(HTTPError) {
        // SAFETY: `sockets` lives until the multi handle, and with it the last connection, is gone.
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
        // SAFETY: the handle is in no multi handle; it is taken out in `remove`.
        let code = unsafe curl_multi_add_handle(multi, handle.easy)
        guard code == CURLM_OK else { throw .invalidRequest("libcurl takes no request") }
        transfers[handle.key] = transfer
        transfer.enter(self, after: turns)
        deadlines.bring(forward: transfer.deadline)
    }

    /// Ends a transfer early; does nothing if it has ended.
    ///
    /// Over HTTP/1.1 that closes the connection.  Over HTTP/2 it ends the stream, and others go on.
    func abandon(_ transfer: Transfer, _ error: HTTPError) {
        guard let handle = transfer.handle, transfers[handle.key] === transfer else { return }
        remove(transfer, handle)
        transfer.end(.failure(error))
    }

    /// Ends the transfers whose deadlines have passed.
    private func expireOverdue() {
        let now = Clock.now
        for transfer in transfers.values where transfer.deadline <= now { expire(transfer) }
        deadlines.set(transfers.values.lazy.map(\.deadline).min())
    }

    /// Ends a transfer whose deadline has passed.
    ///
    /// If nothing at all has come over the connection in the later half of the wait, the path is dead,
    /// and libcurl, which would put the next requests on it until TCP gives up after many minutes, is
    /// made to notice by a `shutdown`.  (The later half, because what had come while the connection was
    /// idle is only read when it is used again.)
    private func expire(_ transfer: Transfer) {
        let isReusing = isKnown(transfer) && transfer.handle?.isReusing ?? false
        let silent = silentSocket(of: transfer)
        guard let handle = transfer.handle, transfers[handle.key] === transfer else { return }
        remove(transfer, handle)
        // Over HTTP/1.1 libcurl has closed it.  And before anybody is told: he may open a socket, which
        // gets the number that has just become free.
        if let (descriptor, port) = silent, SocketAddress(localOf: descriptor)?.port == port {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        transfer.end(.failure(.timedOut(reused: isReusing)))
    }

    /// Ends all transfers early.
    func abandonAll(_ error: HTTPError) {
        for transfer in transfers.values { abandon(transfer, error) }
    }

    /// Whether libcurl has begun a transfer: until then it tells of the one before on the handle.
    private func isKnown(_ transfer: Transfer) -> Bool { transfer.turn < turns }

    /// The descriptor and port of the transfer's connection, if it is silent as `expire` says.
    private func silentSocket(of transfer: Transfer) -> (descriptor: Int32, port: UInt16)? {
        guard isKnown(transfer), let port = transfer.handle?.localPort, port != 0 else {
            return nil
        }
        let middle = transfer.started + transfer.started.duration(to: Clock.now) / 2
        return sockets.all.first { descriptor, socket in
            guard socket.lastHeard.map({ $0 < middle }) ?? true else { return false }
            return SocketAddress(localOf: descriptor)?.port == port
        }.map { ($0.key, port) }
    }

    /// Sends a request again that got no reply because its connection ended, once.
    ///
    /// A server may end a connection at any time, and where it does so all the time (as nginx after
    /// `keepalive_requests`) a request is on its way just then (RFC 9110 §9.2.2, RFC 9113 §8.7).
    /// libcurl does the same, but not of all requests that shared the connection over HTTP/2.
    private func sendAgain(_ transfer: Transfer, on handle: EasyHandle) -> Bool {
        guard !transfer.isSecond, Clock.now < transfer.deadline else { return false }
        // SAFETY: the handle has just been taken out, and libcurl is not on the stack.
        guard unsafe curl_multi_add_handle(multi, handle.easy) == CURLM_OK else { return false }
        transfers[handle.key] = transfer
        transfer.beginAgain(after: turns)
        return true
    }

    /// Takes a transfer out.
    private func remove(_ transfer: Transfer, _ handle: EasyHandle) {
        if isKnown(transfer) {
            transfer.connectionsOpened += handle.connectionsOpened
            if handle.wasSent { transfer.wasSent = true }
        }
        transfers[handle.key] = nil
        // SAFETY: the handle is in this multi handle, and libcurl is not on the stack.
        unsafe curl_multi_remove_handle(multi, handle.easy)
    }
}

// MARK: - Events

extension ConnectionPool {
    /// libcurl's wish to watch `descriptor`, or no longer to; -1 breaks all its transfers off.
    private func watch(_ descriptor: Int32, _ what: Int32) -> Int32 {
        guard what != CURL_POLL_REMOVE else {
            sockets.forget(descriptor)
            return 0
        }
        let events: DescriptorWatch.Events =
            switch what {
            case CURL_POLL_IN: .readable
            case CURL_POLL_OUT: .writable
            default: [.readable, .writable]
            }
        do throws(SocketError) {
            try sockets.watch(descriptor, events)
            return 0
        } catch {
            return -1
        }
    }

    /// libcurl's wish to be called after so many milliseconds; -1 is never.
    private func wake(in milliseconds: Int) {
        guard milliseconds == 0 else {
            return alarm.set(milliseconds < 0 ? nil : Clock.now + .milliseconds(milliseconds))
        }
        // Each request begins so; those of one turn begin together.
        guard !isDue else { return }
        isDue = true
        ServiceLoop.task { [weak self] in
            self?.isDue = false
            self?.drive(CURL_SOCKET_BAD, [])
        }
    }

    /// Lets libcurl work on a descriptor, or on what is due, and takes out what has ended.
    private func drive(_ descriptor: Int32, _ events: DescriptorWatch.Events) {
        var flags: Int32 = 0
        if !events.isDisjoint(with: [.readable, .hangUp]) { flags |= CURL_CSELECT_IN }
        if events.contains(.writable) { flags |= CURL_CSELECT_OUT }
        if events.contains(.error) { flags |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        turns += 1
        // SAFETY: the multi handle is alive and libcurl is not on the stack.
        let code = unsafe curl_multi_socket_action(multi, descriptor, flags, &running)
        guard code == CURLM_OK else { return abandonAll(.broken("libcurl failed")) }
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            // SAFETY: the message is valid until the next call of libcurl; all is read before.
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let easy = unsafe message.pointee.easy_handle,
                let transfer = transfers[UInt(bitPattern: easy)], let handle = transfer.handle
            else { continue }
            let code = unsafe message.pointee.data.result
            let (result, wasCutOff) = (handle.result(code), handle.wasCutOff(code))
            remove(transfer, handle)
            if wasCutOff, sendAgain(transfer, on: handle) { continue }
            transfer.end(result)
        }
    }
}
