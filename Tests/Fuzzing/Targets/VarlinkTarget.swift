// SPDX-License-Identifier: Apache-2.0
import Control

extension FuzzTarget {
    /// The first octet of the input sets the size of the reads.
    static let varlink = FuzzTarget(name: "varlink") { octets in
        var input = FuzzInput(octets)
        let size = Int(input.octet()) + 1
        let stream = Array(input.rest)
        let messages = try VarlinkOracle.messages(of: stream, inPiecesOf: size)
        let parts = stream.split(separator: 0, omittingEmptySubsequences: false)
        let whole = parts.dropLast().prefix { $0.count <= VarlinkOracle.limit }
        try promise(messages == whole.map(Array.init), "read sizes change the messages")
        for message in messages.prefix(4) {
            if let call = try? Call(message: message) { try VarlinkOracle.judge(call) }
            if let reply = try? Reply(message: message) { try VarlinkOracle.judge(reply) }
        }
    }
}

private enum VarlinkOracle {
    static let limit = 2048

    static func messages(of stream: [UInt8], inPiecesOf size: Int) throws -> [[UInt8]] {
        var decoder = MessageDecoder(maximumOctets: limit)
        var messages: [[UInt8]] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let piece = rest.prefix(min(size, decoder.room))
            try promise(!piece.isEmpty, "the buffer has no capacity, and there is no message")
            decoder.append(piece)
            rest = rest.dropFirst(piece.count)
            do throws(ProtocolError) {
                while let message = try decoder.next() { messages.append(message) }
            } catch {
                return messages
            }
        }
        let isCut = stream.last != 0 && !stream.isEmpty
        try promise(decoder.isInsideMessage == isCut, "the end of a message is misplaced")
        return messages
    }

    static func judge(_ call: Call) throws {
        let message = try call.message()
        try promise(message.last == 0 && !message.dropLast().contains(0), "a NUL in a message")
        let again = try Call(message: message.dropLast())
        try promise(again == call, "\(again) is another call")
        try judge(call, as: NoParameters.self)
        try judge(call, as: CheckRequest.self)
        try judge(call, as: DescriptionRequest.self)
        try judge(call, as: LookupRequest.self)
        try judge(call, as: LogLevelRequest.self)
        try judge(call, as: PortalRequest.self)
        try judge(call, as: RoutesRequest.self)
        try judge(call, as: BillRequest.self)
        if let request = try judge(call, as: PauseRequest.self) { _ = try? request.subject() }
        try judge(call, as: WatchRequest.self)
        if let request = try judge(call, as: FlushRequest.self) { _ = try? request.scope() }
        if let request = try judge(call, as: StatsRequest.self) { _ = try? request.interval() }
        if let request = try judge(call, as: TopRequest.self),
            let count = try? request.selection().count
        {
            try promise(ControlLimits.topEntries.contains(count), "a list of \(count)")
        }
    }

    @discardableResult
    private static func judge<Arguments: CallParameters & Equatable>(
        _ call: Call,
        as type: Arguments.Type
    ) throws -> Arguments? {
        let arguments: Arguments
        do throws(MethodError) {
            arguments = try call.arguments(as: type)
        } catch {
            let reply = Reply(error)
            try promise(try Reply(message: reply.message().dropLast()) == reply, "\(error)")
            return nil
        }
        let again = try Call(call.method, arguments: arguments).arguments(as: type)
        try promise(again == arguments, "\(again) are other arguments")
        return arguments
    }

    static func judge(_ reply: Reply) throws {
        let again = try Reply(message: reply.message().dropLast())
        try promise(again == reply, "\(again) is another reply")
        guard let name = reply.error else { return }
        let error = MethodError(name: name, parameters: reply.parameters)
        try promise(error.name == name, "\(error.name) is another error")
    }
}
