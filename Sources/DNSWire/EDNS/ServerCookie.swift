// SPDX-License-Identifier: Apache-2.0

/// A server cookie in the form that all servers can make and check (RFC 9018 §4).
package struct ServerCookie: Hashable, Sendable {
    /// Version 1, three octets of zeros and the time it was made at, in network order.
    package let head: UInt64

    /// SipHash-2-4 of the client cookie, `head` and the client's address, in network order.
    package let hash: UInt64

    /// Octets of such a cookie on the wire; others have 8 to 32 (RFC 7873 §4.2).
    package static let octetCount = 16

    /// When it was made: seconds since 1970, modulo 2³², to be compared as RFC 1982 does
    /// (RFC 9018 §4.3).
    var time: UInt32 { UInt32(truncatingIfNeeded: head) }

    /// Puts together what was read.
    package init(head: UInt64, hash: UInt64) {
        self.head = head
        self.hash = hash
    }

    /// The cookie on the wire.
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(bigEndian: head)
        octets.append(bigEndian: hash)
        return octets
    }

    /// Makes the cookie of a client.
    ///
    /// - Parameter client: the client cookie, in network order.
    fileprivate init(client: UInt64, address: IPAddress, time: UInt32, secret: CookieSecret) {
        self.init(client: client, address: address, head: 1 << 56 | UInt64(time), secret: secret)
    }

    /// Makes the cookie that begins with `head`.
    fileprivate init(client: UInt64, address: IPAddress, head: UInt64, secret: CookieSecret) {
        var sum = SipHash(low: secret.low, high: secret.high)
        sum.absorb(client.byteSwapped)
        sum.absorb(head.byteSwapped)
        switch address {
        case .v4(let address):
            sum.absorb(20 << 56 | UInt64(address.value.byteSwapped))
        case .v6(let address):
            sum.absorb(address.high.byteSwapped)
            sum.absorb(address.low.byteSwapped)
            sum.absorb(32 << 56)
        }
        self.init(head: head, hash: sum.finish().byteSwapped)
    }
}

/// What only the server knows of its cookies: sixteen octets.
package struct CookieSecret: Hashable, Sendable {
    /// The first eight octets, the first lowest.
    fileprivate let low: UInt64

    /// The other eight.
    fileprivate let high: UInt64

    /// Draws a secret by lot.
    package init(using random: inout some RandomNumberGenerator) {
        self.init(low: random.next(), high: random.next())
    }

    /// Takes a secret that is known, each half with its first octet lowest.
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

/// The secret that cookies are made with, and the one before it (RFC 9018 §5).
package struct CookieSecrets: Hashable, Sendable {
    /// Makes cookies, and is good for its own.
    package private(set) var current: CookieSecret

    /// Still good for the cookies that were made with it.
    package private(set) var previous: CookieSecret?

    /// Begins with one secret.
    package init(_ secret: CookieSecret) {
        current = secret
    }

    /// Makes cookies with `secret` from now on; those of the current one stay good until the next
    /// call.
    package mutating func renew(with secret: CookieSecret) {
        previous = current
        current = secret
    }
}

// MARK: - Checking

extension CookieSecrets {
    /// What a server says to a cookie.
    package struct Verdict: Hashable, Sendable {
        /// Whether the client has what we sent to its address: whoever asks is really there.
        package let isProven: Bool

        /// The cookie to send: the client's own while it is young, else a new one.
        package let cookie: ServerCookie
    }

    /// Judges a client cookie of `address`, with the server cookie that came with it.
    ///
    /// A wrong, old or missing server cookie is no fault: the answer brings a right one
    /// (RFC 7873 §5.2.3, §5.2.4).
    ///
    /// - Parameters:
    ///   - client: the client cookie, in network order.
    ///   - cookie: nil if there was none, or one of another length.
    ///   - time: seconds since 1970, modulo 2³².
    package func verdict(
        on cookie: ServerCookie?,
        client: UInt64,
        address: IPAddress,
        time: UInt32
    ) -> Verdict {
        let age = cookie.map { Int32(truncatingIfNeeded: time &- $0.time) } ?? .max
        var isProven = false
        // The reserved octets are not looked at, but they are in the hash (RFC 9018 §4.2).
        if let cookie, CookieLimits.ages.contains(age), cookie.head >> 56 == 1 {
            let isCurrent = cookie == self.cookie(current, client, address, cookie.head)
            if isCurrent, age < CookieLimits.renewal {
                return Verdict(isProven: true, cookie: cookie)
            }
            isProven =
                isCurrent
                || previous.map { cookie == self.cookie($0, client, address, cookie.head) } ?? false
        }
        return Verdict(
            isProven: isProven,
            cookie: ServerCookie(client: client, address: address, time: time, secret: current)
        )
    }

    private func cookie(
        _ secret: CookieSecret,
        _ client: UInt64,
        _ address: IPAddress,
        _ head: UInt64
    ) -> ServerCookie {
        ServerCookie(client: client, address: address, head: head, secret: secret)
    }
}

/// How long server cookies are good for (RFC 9018 §4.3).
package enum CookieLimits {
    /// Seconds since a cookie was made within which it is taken: an hour, and five minutes for a
    /// clock that is ahead of ours.
    static let ages: ClosedRange<Int32> = -300...3600

    /// Seconds after which the client gets a new one.
    static let renewal: Int32 = 1800

    /// How long one secret makes cookies; the one before it is good for as long again, which is
    /// longer than any cookie is (RFC 9018 §5).
    package static let secretLifetime: Duration = .seconds(86_400)
}
