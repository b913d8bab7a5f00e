// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Tencent Cloud HTTPDNS: `/d` and `/conf`, by token (HTTPS), AES or DES.
///
/// Written from the vendor's documents: "HTTP API" 379/54976, "HTTPS API" 379/95498, "AES/DES
/// encryption and decryption" 379/3530, "service IP disaster recovery" 379/116336.  They say 200
/// for any well-formed request, 404 for a wrong path, 501 for a wrong method, and nothing about
/// wrong parameters.  Chosen here, unverified: 200 without content for a request that cannot be
/// understood or decrypted, `refusal` for an account that is not the configured one.
struct Tencent: Vendor {
    /// The one account there is.
    var account = Account()

    /// How it answers where documents are silent or disagree with the vendor's own clients.
    var manner = Manner()

    func serves(_ request: Request) -> Bool {
        request.path == "/d" || request.path == "/conf"
    }

    /// A status code without content: the documents know no other errors.
    func failure(_ code: String) -> Response {
        Response(status: Int(code).flatMap { (200...599).contains($0) ? $0 : nil } ?? 500)
    }

    /// The choices an operator has.
    struct Manner: Sendable, Equatable {
        /// Where a batch says the client's address.
        var clientLines = ClientLines.last
        /// How a family without addresses is written.
        var missingFamily = MissingFamily.zero
        /// The status code for a wrong account, or 200 for an empty answer.
        var refusal = 401
        /// Whether `dn` must carry its `;expiry`, as accounts with authentication switched on.
        var requiresExpiry = false
        /// Whether `dn` must not carry one, as if the vendor did not know it yet.
        var refusesExpiry = false
        /// The service addresses of `/conf`; those of the vendor are never named, as tests would ask them.
        var serviceAddresses: [String] = []
        /// Minutes the service addresses hold.
        var serviceMinutes = 60
    }

    /// Where a batch says `|clientip`: the documents show the last line, the SDKs need it on each.
    enum ClientLines: String, CaseIterable, Sendable {
        case last, every
    }

    /// How a family without addresses is written; the documents print `0`, without a TTL.
    enum MissingFamily: String, CaseIterable, Sendable {
        case zero
        case zeroTTL = "zero-ttl"
        case empty
        case emptyTTL = "empty-ttl"
    }

    /// How a request proves its account and hides its names.
    enum Channel: String, Sendable {
        case token, aes, des
    }

    /// Why a request gets no addresses.
    enum Refusal: Error {
        /// A method other than GET and POST: 501, documented.
        case method
        /// Parameters that cannot be understood, or `dn` that cannot be decrypted.
        case unintelligible
        /// No such account, wrong token, or an expired signature.
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
            return Call(channel: name, names: question.keys, isLookup: true) { zone, distortion in
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

    /// Which channel a request uses, once its account is right.
    private func channel(_ parameters: Parameters) throws(Refusal) -> Channel {
        let channel: Channel
        switch (parameters["token"], parameters["alg"]) {
        case (.some, .some): throw .unintelligible
        case (let token?, nil):
            guard token == account[.token] else { throw .account }
            channel = .token
        case (nil, let algorithm):
            // The table calls `alg` required, the examples leave it out for DES.
            guard let named = Channel(rawValue: algorithm ?? "des"), named != .token else {
                throw .unintelligible
            }
            channel = named
        }
        // Without id and token it is the free form of 119.29.29.29, stopped on 2022-01-01.
        let id = parameters["id"]
        guard id == account[.id] || (id == nil && channel == .token) else { throw .account }
        return channel
    }

    /// The key of an encrypted channel.
    func key(_ channel: Channel) -> (cipher: Cipher, key: [UInt8])? {
        switch channel {
        case .token: nil
        case .aes: (.aes, Array(account[.keyAES].utf8))
        case .des: (.des, Array(account[.keyDES].utf8))
        }
    }

    // MARK: - Responses

    /// Text as the channel sends it; no text is no content, on all channels.
    private func respond(
        _ text: String,
        over channel: Channel,
        _ distortion: Distortion
    ) throws(Cipher.Failure) -> Response {
        guard !text.isEmpty, let (cipher, key) = key(channel) else { return Response(text: text) }
        return Response(
            text: Hex.encode(try distortion.seal(Array(text.utf8), cipher, key: key))
        )
    }

    /// The service addresses, as `/conf` says them.
    private var conf: String {
        let addresses = manner.serviceAddresses.joined(separator: ";")
        return "log:0|domain:0|ip:\(addresses)|ttl:\(manner.serviceMinutes)"
    }
}
