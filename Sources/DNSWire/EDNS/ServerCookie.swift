// SPDX-License-Identifier: Apache-2.0

/// Server cookie in the format of RFC 9018 §4.
package struct ServerCookie: Hashable, Sendable {
    /// Version 1, three zero octets and the timestamp.
    package let head: UInt64

    /// SipHash-2-4 of the client cookie, `head` and the client address, with the server's secret.
    package let hash: UInt64

    /// In octets; RFC 7873 §4.2 allows 8 to 32.
    package static let octetCount = 16

    /// Seconds since 1970 modulo 2³², compared as a serial number (RFC 1982, RFC 9018 §4.3).
    var time: UInt32 { UInt32(truncatingIfNeeded: head) }

    package init(head: UInt64, hash: UInt64) {
        self.head = head
        self.hash = hash
    }

    package var octets: [UInt8] {
        var octets: [UInt8] = []
        octets.append(bigEndian: head)
        octets.append(bigEndian: hash)
        return octets
    }

    fileprivate init(client: UInt64, address: IPAddress, time: UInt32, secret: CookieSecret) {
        self.init(client: client, address: address, head: 1 << 56 | UInt64(time), secret: secret)
    }

    fileprivate init(client: UInt64, address: IPAddress, head: UInt64, secret: CookieSecret) {
        var sum = SipHash(low: secret.low, high: secret.high)
        sum.absorb(client.byteSwapped)
        sum.absorb(head.byteSwapped)
        switch address {
        case .v4(let address): sum.absorb(20 << 56 | UInt64(address.value.byteSwapped))
        case .v6(let address):
            sum.absorb(address.high.byteSwapped)
            sum.absorb(address.low.byteSwapped)
            sum.absorb(32 << 56)
        }
        self.init(head: head, hash: sum.finish().byteSwapped)
    }
}

package struct CookieSecret: Hashable, Sendable {
    fileprivate let low: UInt64
    fileprivate let high: UInt64

    package init(using random: inout some RandomNumberGenerator) {
        self.init(low: random.next(), high: random.next())
    }

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

/// Current and previous cookie secret (RFC 9018 §5).
package struct CookieSecrets: Hashable, Sendable {
    package private(set) var current: CookieSecret
    package private(set) var previous: CookieSecret?

    package init(_ secret: CookieSecret) { current = secret }

    package mutating func renew(with secret: CookieSecret) {
        previous = current
        current = secret
    }
}

// MARK: - Checking

extension CookieSecrets {
    package struct Decision: Hashable, Sendable {
        package let isProven: Bool

        package let cookie: ServerCookie
    }

    /// Checks a server cookie; an invalid cookie is not an error (RFC 7873 §5.2.3, §5.2.4).
    ///
    /// `client` is in network order, `time` in seconds since 1970 modulo 2³².
    package func decision(
        on cookie: ServerCookie?,
        client: UInt64,
        address: IPAddress,
        time: UInt32
    ) -> Decision {
        let age = cookie.map { Int32(truncatingIfNeeded: time &- $0.time) } ?? .max
        var isProven = false
        // The three reserved octets need no check, because the hash covers them (RFC 9018 §4.2).
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
    ) -> ServerCookie { ServerCookie(client: client, address: address, head: head, secret: secret) }
}

/// Lifetimes of server cookies and secrets (RFC 9018 §4.3).
package enum CookieLimits {
    /// Accepted ages in seconds; because of clock skew, an age can be negative.
    static let ages: ClosedRange<Int32> = -300...3600

    /// Age in seconds at which the client gets a new cookie.
    static let renewal: Int32 = 1800

    /// Time until a new secret replaces the current secret (RFC 9018 §5).
    package static let secretLifetime: Duration = .seconds(86_400)
}
