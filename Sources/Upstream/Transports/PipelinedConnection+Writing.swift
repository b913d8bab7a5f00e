// SPDX-License-Identifier: Apache-2.0
internal import Net

extension PipelinedConnection {
    func send(_ query: [UInt8], id: UInt16) {
        // Length and message are sent together (RFC 7766 §8).
        outbox += [UInt8(query.count >> 8), UInt8(query.count & 0xFF)]
        outbox += [UInt8(id >> 8), UInt8(id & 0xFF)]
        outbox += query[2...]
        guard let stream else { return }
        write(to: stream)
    }

    /// Starts to write; queries of one iteration of the service loop are sent together.
    func write(to stream: any OctetStream) {
        guard !isWriting, !outbox.isEmpty else { return }
        isWriting = true
        ServiceLoop.task { [self] in
            defer { isWriting = false }
            do throws(SocketError) {
                while end == nil, !outbox.isEmpty {
                    let octets = outbox
                    outbox = []
                    let limit = clocks.now() + UpstreamLimits.write
                    try await stream.write(octets, deadline: limit)
                }
            } catch {
                close(UpstreamError(error))
            }
        }
    }
}
