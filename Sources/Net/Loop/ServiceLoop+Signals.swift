// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

extension ServiceLoop {
    /// Blocks `signals` in the calling thread and the threads that it starts later.
    ///
    /// Call this before other threads exist.
    package static func blockSignals(_ signals: [Int32]) {
        var set = sigset_t()
        // SAFETY: the first call initialises the set.
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        let error = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        precondition(error == 0, "cannot block signals: \(errorText(error))")
    }

    /// Returns a stream of `signals`, which the caller must have blocked.
    ///
    /// The stream gets signals until it is released.
    @ServiceLoop
    package static func signals(_ signals: [Int32]) throws(SocketError) -> AsyncStream<Int32> {
        // A buffer of 64 is sufficient, because the kernel merges equal pending signals.
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int32.self,
            bufferingPolicy: .bufferingNewest(64)
        )
        let source = try SignalSource(signals, continuation)
        continuation.onTermination = { _ in
            ServiceLoop.post { source.cancel() }
        }
        return stream
    }
}

@ServiceLoop
private final class SignalSource {
    private let descriptor: OwnedDescriptor
    private var watch: DescriptorWatch?

    init(
        _ signals: [Int32],
        _ continuation: AsyncStream<Int32>.Continuation
    ) throws(SocketError) {
        // SAFETY: reads exactly the array's elements.
        descriptor = try OwnedDescriptor(
            unsafe linux_signalfd(signals, Int32(signals.count)),
            from: "signalfd"
        )
        let raw = descriptor.raw
        watch = try DescriptorWatch(raw, .readable) { _ in
            let signal = linux_signalfd_next(raw)
            if signal > 0 { continuation.yield(signal) }
        }
    }

    func cancel() {
        watch?.cancel()
        watch = nil
    }
}
