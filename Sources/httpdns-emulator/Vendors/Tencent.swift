// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Tencent Cloud HTTPDNS: `/d` and `/conf`, protected by HTTPS (with a token), AES or DES.
///
/// Tencent Cloud documents: 379/54976 (HTTP API), 379/95498 (HTTPS API), 379/3530 (AES and DES),
/// 379/116336 (`/conf`).
struct Tencent: Vendor {
    var account = Account()
    var manner = Manner()
    func serves(_ request: Request) -> Bool { request.path == "/d" || request.path == "/conf" }

    func failure(_ code: String) -> Response {
        Response(status: Int(code).flatMap { (200...599).contains($0) ? $0 : nil } ?? 500)
    }

    /// Behaviour that the documents do not specify.
    struct Manner: Sendable, Equatable {
        var clientLines = ClientLines.last
        var missingFamily = MissingFamily.zero
        var refusal = 401
        /// True if `dn` must have an expiry (`;TIME`), as for accounts with authentication.
        var requiresExpiry = false
        var refusesExpiry = false
        /// Addresses that `/conf` returns; tests must not query the addresses of the real vendor.
        var serviceAddresses: [String] = []
        var serviceMinutes = 60
    }

    /// Lines of a batch that end with `|` and the client address.
    ///
    /// The documents show `last`; the SDKs need `every`.
    enum ClientLines: String, CaseIterable, Sendable {
        case last, every
    }

    /// Form of an address family without addresses; the documents show `0`, without a TTL.
    enum MissingFamily: String, CaseIterable, Sendable {
        case zero
        case zeroTTL = "zero-ttl"
        case empty
        case emptyTTL = "empty-ttl"
    }

    enum Channel: String, Sendable {
        case token, aes, des
    }

    enum Refusal: Error {
        case method
        case unintelligible
        case account
    }

    // MARK: - Calls

    func call(_ request: Request, at time: Date) -> Call {
        let isLookup = request.path == "/d"
        do throws(Refusal) {
            guard request.method == "GET" || request.method == "POST" else { throw .method }
            guard let parameters = Parameters(request) else { throw .unintelligible }
            let channel = try self.channel(parameters)
            let name = "tencent-" + channel.rawValue
            guard isLookup else {
                return Call(channel: name, isLookup: false) { _, distortion in
                    try respond(conf, over: channel, distortion)
                }
            }
            let question = try question(parameters, channel, request.client, at: time)
            return Call(
                channel: name,
                names: question.keys,
                isLookup: true,
                charge: Charge(
                    rate: .request,
                    families: question.type.families,
                    clients: [question.client]
                )
            ) { zone, distortion in
                try respond(answer(question, zone, distortion), over: channel, distortion)
            }
        } catch {
            let status =
                switch error {
                case .method: 501
                case .unintelligible: 200
                case .account: manner.refusal
                }
            return Call(channel: "tencent-refused", isLookup: isLookup) { _, _ in
                Response(status: status)
            }
        }
    }

    private func channel(_ parameters: Parameters) throws(Refusal) -> Channel {
        let channel: Channel
        switch (parameters["token"], parameters["alg"]) {
        case (.some, .some): throw .unintelligible
        case (let token?, nil):
            guard token == account[.token] else { throw .account }
            channel = .token
        case (nil, let algorithm):
            // The documents require `alg`, but their examples for DES omit `alg`.
            guard let named = Channel(rawValue: algorithm ?? "des"), named != .token else {
                throw .unintelligible
            }
            channel = named
        }
        // Since 2022-01-01, the vendor refuses requests with neither id nor token.
        let id = parameters["id"]
        guard id == account[.id] || (id == nil && channel == .token) else { throw .account }
        return channel
    }

    func key(_ channel: Channel) -> (cipher: Cipher, key: [UInt8])? {
        switch channel {
        case .token: nil
        case .aes: (.aes, Array(account[.keyAES].utf8))
        case .des: (.des, Array(account[.keyDES].utf8))
        }
    }

    // MARK: - Responses

    private func respond(
        _ text: String,
        over channel: Channel,
        _ distortion: Distortion
    ) throws(Cipher.Failure) -> Response {
        guard !text.isEmpty, let (cipher, key) = key(channel) else { return Response(text: text) }
        return Response(text: Hex.encode(try distortion.seal(Array(text.utf8), cipher, key: key)))
    }

    private var conf: String {
        let addresses = manner.serviceAddresses.joined(separator: ";")
        return "log:0|domain:0|ip:\(addresses)|ttl:\(manner.serviceMinutes)"
    }
}
