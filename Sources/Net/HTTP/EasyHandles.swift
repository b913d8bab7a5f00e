// SPDX-License-Identifier: Apache-2.0

/// Idle handles of a pool.
@ServiceLoop
final class EasyHandles {
    private static let maximumIdle = 128

    let trusted: TrustStore?

    private let limits: HTTPClient.Limits
    private let memory: ReplyMemory.Share
    private let meter: LoopMeter
    private(set) var idle: [EasyHandle] = []

    init(
        _ limits: HTTPClient.Limits,
        _ memory: ReplyMemory.Share,
        _ meter: LoopMeter,
        trusting store: TrustStore?
    ) {
        self.limits = limits
        self.memory = memory
        self.meter = meter
        trusted = store
    }

    /// Returns an idle handle that is prepared for requests such as `request`.
    ///
    /// If there is none, returns a handle that is not prepared for any request.
    func take(for request: HTTPRequest) throws(HTTPError) -> EasyHandle {
        if let last = takeLast() {
            if last.isPrepared(for: request) { return last }
            idle.append(last)
        }
        for index in idle.indices.reversed() where idle[index].isPrepared(for: request) {
            idle.swapAt(index, idle.endIndex - 1)
            return idle.removeLast()
        }
        guard !LibraryVersion.hasStaleHeaders, let handle = idle.popLast() else {
            return try make()
        }
        handle.forget()
        return handle
    }

    private func takeLast() -> EasyHandle? {
        var idle: [EasyHandle] = []
        swap(&idle, &self.idle)
        defer { swap(&idle, &self.idle) }
        return idle.popLast()
    }

    func make() throws(HTTPError) -> EasyHandle {
        guard let handle = EasyHandle(limits, memory, meter, trusting: trusted) else {
            throw .invalidRequest("libcurl is out of memory")
        }
        return handle
    }

    func dropIdle() { idle = [] }

    /// The handle must be in no pool.
    func giveBack(_ handle: EasyHandle) {
        guard handle.isReusable else { return }
        var idle: [EasyHandle] = []
        swap(&idle, &self.idle)
        if idle.count < Self.maximumIdle { idle.append(handle) }
        swap(&idle, &self.idle)
    }
}
