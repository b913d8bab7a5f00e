// SPDX-License-Identifier: Apache-2.0
import Foundation

extension Alibaba {
    struct Server: Sendable, Equatable {
        var address: Address
        /// Port; nil means 80 for HTTP and 443 for HTTPS.
        var port: UInt16?

        /// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`.
        init?(_ text: String) {
            if let address = Address(text) {
                self.address = address
            } else if let endpoint = Endpoint(text), endpoint.port > 0 {
                (address, port) = (endpoint.address, endpoint.port)
            } else {
                return nil
            }
        }

        init(_ endpoint: Endpoint) { (address, port) = (endpoint.address, endpoint.port) }
    }

    /// Regions in Alibaba Cloud document 616049; `global` is the region nearest to the client.
    private static let regions: Set<String> = ["cn", "hk", "sg", "us", "de", "global"]

    /// Seconds for which a call is accepted after the signed expiry.
    ///
    /// Clients that follow Alibaba Cloud document 435286 sign the current time, which has passed
    /// when the call arrives.
    private static let pastSeconds = 150

    /// Maximum time until the signature expires (Alibaba Cloud document 111585).
    private static let aheadSeconds = 300

    func schedule(_ parameters: Parameters, at time: Date) throws(Code) -> Call {
        guard Self.regions.contains(parameters.text("region") ?? "cn") else {
            throw .missingArgument
        }
        if let session = parameters.text("sid") {
            guard session.utf8.count == 12, session.utf8.allSatisfy(\.isLetterOrDigit) else {
                throw .missingArgument
            }
        }
        let isSigned = try checkSchedule(parameters, at: time)
        let servers = manner.servers
        var members: [(String, JSONText)] = []
        for (name, family) in [("service_ip", Family.v4), ("service_ipv6", .v6)] {
            let some = servers.filter { $0.address.family == family }
            members.append((name, .strings(some.map(\.address.text))))
            guard some.contains(where: { $0.port != nil }) else { continue }
            members.append((name + "_port", .array(some.map { .number(Int($0.port ?? 80)) })))
        }
        if let status = manner.status {
            members.append(("service_status", .string(status.rawValue)))
        }
        let answer = JSONText.object(members)
        return Call(channel: isSigned ? "alibaba-ss-signed" : "alibaba-ss", isLookup: false) {
            _,
            _ in
            Response(json: answer)
        }
    }

    /// Returns true for a correct signature, false for an unsigned call (as from the SDKs).
    private func checkSchedule(_ parameters: Parameters, at time: Date) throws(Code) -> Bool {
        switch (parameters.text("n"), parameters.text("t"), parameters.text("s")) {
        case (nil, nil, nil): return false
        case (let nonce?, let expiry?, let signature?):
            guard (8...16).contains(nonce.utf8.count),
                nonce.utf8.allSatisfy({ UInt8(String(UnicodeScalar($0)), radix: 16) != nil }),
                expiry.isDigits, let seconds = Int(expiry)
            else { throw .missingArgument }
            let honest = Digest.md5("\(nonce)-\(account[.alibabaSecret])-\(expiry)")
            guard Digest.areEqual(signature, honest) else { throw .invalidSignature }
            let left = TimeInterval(seconds) - time.timeIntervalSince1970
            guard left > -TimeInterval(Self.pastSeconds) else { throw .signatureExpired }
            guard left <= TimeInterval(Self.aheadSeconds) else { throw .invalidDuration }
            return true
        default: throw .missingArgument
        }
    }
}
