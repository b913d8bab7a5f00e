// SPDX-License-Identifier: Apache-2.0
import Fleet

extension FuzzTarget {
    /// The first octet of the input sets the size of the reads.
    static let redis = FuzzTarget(name: "redis") { octets in
        try promise(RedisCodec.load() == nil, "libhiredis is missing")
        var input = FuzzInput(octets)
        let size = Int(input.octet()) + 1
        let stream = Array(input.rest)
        let whole = ReplyReader().count(stream)
        let reader = ReplyReader()
        var parts: Int? = 0
        var rest = stream[...]
        while !rest.isEmpty, let sum = parts {
            parts = reader.count(Array(rest.prefix(size))).map { sum + $0 }
            rest = rest.dropFirst(size)
        }
        try promise(whole == parts, "\(String(describing: parts)) replies in parts of \(size)")
    }
}
