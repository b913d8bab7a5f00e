// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Synchronization
import Testing

@ServiceLoop
final class ScriptedServer {
    typealias Datagrams = @Sendable (_ query: [UInt8]) -> [[UInt8]]

    /// Returns replies with length prefixes; the server sends these and closes the connection.
    typealias Stream = @Sendable (_ query: [UInt8]) -> [UInt8]

    let address: SocketAddress

    private let datagrams: DatagramListener
    private let stream: StreamListener?
    private let thread: WorkerThread
    private let isStopping = Flag()
    private let accepted = Count()

    var connections: Int { accepted.value.load(ordering: .relaxed) }

    init(_ script: @escaping Datagrams, stream: Stream? = nil) throws {
        (datagrams, self.stream) = try Self.bind(both: stream != nil)
        address = datagrams.address
        let datagrams = datagrams
        let isStopping = isStopping
        thread = try WorkerThread(named: "scripted") {
            var batch = DatagramBatch(for: datagrams)
            while !isStopping.value.load(ordering: .relaxed) {
                let count = batch.receive(from: datagrams)
                guard count > 0 else { continue }
                for slot in 0..<count {
                    let query = batch.copy(slot)
                    for reply in script(query.octets) {
                        _ = datagrams.send(reply, inReplyTo: query)
                    }
                }
            }
        }
        if let listener = self.stream, let stream { serve(listener, stream) }
    }

    func stop() {
        isStopping.value.store(true, ordering: .relaxed)
        datagrams.stopReceiving()
        thread.join()
        stream?.close()
    }

    private static func bind(both: Bool) throws -> (DatagramListener, StreamListener?) {
        let any = try #require(SocketAddress("127.0.0.1:0"))
        while true {
            let datagrams = try DatagramListener(binding: any, shared: false)
            guard both else { return (datagrams, nil) }
            do throws(SocketError) {
                return (datagrams, try StreamListener(binding: datagrams.address))
            } catch {
                guard error.isAddressInUse else { throw error }
            }
        }
    }

    private func serve(_ listener: StreamListener, _ script: @escaping Stream) {
        let accepted = accepted
        Task { @ServiceLoop in
            while let client = try? await listener.accept() {
                accepted.value.add(1, ordering: .relaxed)
                Task { @ServiceLoop in
                    defer { client.close() }
                    let patience = Clock.now + .seconds(300)
                    var octets: [UInt8] = []
                    while octets.count < 2
                        || octets.count < 2 + Int(octets[0]) << 8 + Int(octets[1])
                    {
                        let more = try await client.read(upTo: 4096, deadline: patience)
                        guard !more.isEmpty else { return }
                        octets += more
                    }
                    for octet in script(Array(octets[2...])) {
                        try await client.write([octet], deadline: patience)
                    }
                }
            }
        }
    }

    private final class Flag: Sendable {
        let value = Atomic(false)
    }

}

final class Count: Sendable {
    let value = Atomic(0)
}

func reply(
    to query: [UInt8],
    _ change: (inout Message) -> Void = { _ in }
) -> [UInt8] {
    guard var message = try? Message(parsing: query), let question = message.question else {
        return []
    }
    message.header.isResponse = true
    message.header.recursionAvailable = true
    message.edns = EDNS(udpPayloadSize: 1232)
    message.answers = [
        Record(name: question.name, ttl: 60, data: .a(IPv4Address(value: 0xC000_0201)))
    ]
    change(&message)
    return message.encoded()
}

func framed(_ message: [UInt8]) -> [UInt8] {
    [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
}

extension Name {
    var respelt: Name {
        var octets = octets
        octets[1] ^= 0x20
        return (try? Name(wire: octets)) ?? self
    }
}

extension Name: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            fatalError("\(text): \(error)")
        }
    }
}

struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
