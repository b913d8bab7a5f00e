// SPDX-License-Identifier: Apache-2.0

/// A server cookie in the interoperable format of RFC 9018 §4.
package struct ServerCookie: Hashable, Sendable {
    /// Version 1, three zero octets and the timestamp, as a number in network order.
    package let head: UInt64

    /// SipHash-2-4 of client cookie, `head` and client address, as a number in network order.
    package let hash: UInt64

    /// Size of such a cookie in octets; other formats have 8 to 32 (RFC 7873 §4.2).
    package static let octetCount = 16

    /// Creation time in seconds since 1970 modulo 2³², compared by serial arithmetic (RFC 1982, RFC
    /// 9018 §4.3).
    var time: UInt32 { UInt32(truncatingIfNeeded: head) }

    /// Creates a cookie from its parsed fields.
    package init(head: UInt64, hash: UInt64) {
        self.head = head
        self.hash = hash
    }

    /// The cookie in wire form.
    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(bigEndian: head)
        octets.append(bigEndian: hash)
        return octets
    }

    /// Creates the cookie of a client.
    ///
    /// - Parameter client: The client cookie in network order.
    fileprivate init(client: UInt64, address: IPAddress, time: UInt32, secret: CookieSecret) {
        self.init(client: client, address: address, head: 1 << 56 | UInt64(time), secret: secret)
    }

    /// Creates the cookie that begins with `head`.
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

/// Secret key of 128 bits for server cookies.
package struct CookieSecret: Hashable, Sendable {
    /// The first eight octets as a little-endian number.
    fileprivate let low: UInt64

    /// The last eight octets as a little-endian number.
    fileprivate let high: UInt64

    /// Generates a random secret.
    package init(using random: inout some RandomNumberGenerator) {
        self.init(low: random.next(), high: random.next())
    }

    /// Creates a secret from two little-endian halves.
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

/// The current and the previous cookie secret (RFC 9018 §5).
package struct CookieSecrets: Hashable, Sendable {
    /// Secret of new cookies.
    package private(set) var current: CookieSecret

    /// Previous secret; its cookies are still accepted.
    package private(set) var previous: CookieSecret?

    /// Starts with one secret.
    package init(_ secret: CookieSecret) {
        current = secret
    }

    /// Replaces the current secret; cookies of the replaced secret are accepted until the next
    /// call.
    package mutating func renew(with secret: CookieSecret) {
        previous = current
        current = secret
    }
}

// MARK: - Checking

extension CookieSecrets {
    /// Result of checking a server cookie.
    package struct Decision: Hashable, Sendable {
        /// True if the client has proven that it receives replies at its address.
        package let isProven: Bool

        /// The cookie to send: the cookie of the client if it is recent, else a new one.
        package let cookie: ServerCookie
    }

    /// Checks the server cookie that a client at `address` sent with its client cookie.
    ///
    /// An invalid, expired or missing server cookie is no error: the reply carries a valid one (RFC
    /// 7873 §5.2.3, §5.2.4).
    ///
    /// - Parameters:
    ///   - client: The client cookie in network order.
    ///   - cookie: The server cookie; nil if it is missing or has another length.
    ///   - time: Seconds since 1970 modulo 2³².
    package func decision(
        on cookie: ServerCookie?,
        client: UInt64,
        address: IPAddress,
        time: UInt32
    ) -> Decision {
        let age = cookie.map { Int32(truncatingIfNeeded: time &- $0.time) } ?? .max
        var isProven = false
        // The reserved octets are not checked, but the hash covers them (RFC 9018 §4.2).
        if let cookie, CookieLimits.ages.contains(age), cookie.head >> 56 == 1 {
            let isCurrent = cookie == self.cookie(current, client, address, cookie.head)
            if isCurrent, age < CookieLimits.renewal {
                return Decision(isProven: true, cookie: cookie)
            }
            isProven =
                isCurrent
                || previous.map { cookie == self.cookie($0, client, address, cookie.head) } ?? false
        }
        return Decision(
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

/// Lifetimes of server cookies and secrets (RFC 9018 §4.3).
package enum CookieLimits {
    /// Accepted ages in seconds: up to one hour, and five minutes in the future for clock skew.
    static let ages: ClosedRange<Int32> = -300...3600

    /// Age in seconds after which the client gets a new cookie.
    static let renewal: Int32 = 1800

    /// Time until the current secret is replaced.
    ///
    /// The previous secret is accepted equally long, which exceeds the lifetime of any cookie (RFC
    /// 9018 §5).
    package static let secretLifetime: Duration = .seconds(86_400)
}
