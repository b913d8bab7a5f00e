// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

extension ServiceLoop {
    /// Blocks `signals` in the calling thread and the threads that it starts later.
    ///
    /// Must be called before other threads exist: they could receive the signals.
    package static func blockSignals(_ signals: [Int32]) {
        var set = sigset_t()
        // SAFETY: the first call initialises the set.
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        let error = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        precondition(error == 0, "cannot block signals: \(errorText(error))")
    }

    /// Returns a stream of the signals that arrive until the stream is released.
    ///
    /// - Throws: `SocketError.system` with EBUSY if a signal is not blocked or has another stream.
    @ServiceLoop
    package static func signals(_ signals: [Int32]) throws(SocketError) -> AsyncStream<Int32> {
        // The kernel merges equal pending signals, so 64 is sufficient.
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int32.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        var sources: [SignalSource] = []
        for signal in signals { sources.append(try SignalSource(signal, continuation)) }
        let all = sources
        continuation.onTermination = { _ in
            ServiceLoop.post { for source in all { source.cancel() } }
        }
        return stream
    }
}

// SAFETY: see `source`.
@safe
@ServiceLoop
private final class SignalSource {
    // SAFETY: made in `init`, released once in `cancel`, used on the loop only.
    private var source: OpaquePointer?

    private let continuation: AsyncStream<Int32>.Continuation

    init(_ signal: Int32, _ continuation: AsyncStream<Int32>.Continuation) throws(SocketError) {
        self.continuation = continuation
        unsafe source = nil
        // SAFETY: `cancel` ends all callbacks. `data` is the object that added this source.
        let status = unsafe sd_event_add_signal(
            LoopExecutor.shared.event,
            &source,
            signal,
            { _, info, data in
                guard let info = unsafe info, let data = unsafe data else { return 0 }
                let signal = unsafe Int32(info.pointee.ssi_signo)
                let source = unsafe Unmanaged<SignalSource>.fromOpaque(data).takeUnretainedValue()
                ServiceLoop.assumeIsolated { _ = source.continuation.yield(signal) }
                return 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        guard status >= 0 else { throw .system(call: "signalfd", code: -status) }
    }

    func cancel() {
        unsafe sd_event_source_disable_unref(source)
        unsafe source = nil
    }

    isolated deinit { cancel() }
}
