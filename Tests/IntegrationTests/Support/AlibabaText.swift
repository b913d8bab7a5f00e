// SPDX-License-Identifier: Apache-2.0

struct AlibabaText {
    let text: String

    init(servers: [String], in scratch: Scratch, extra: String...) throws {
        let secret = try scratch.write(
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n",
            to: "alibaba",
            mode: 0o600
        )
        let list = servers.map { "\"\($0)\"" }.joined(separator: ", ")
        text = """
            vendors:
              alibaba:
                kind: alibaba
                account: 100000
                secret: {file: \(secret)}
                servers: [\(list)]
                \(extra.joined(separator: "\n    "))
            routes: [{domains: [example.com], vendors: [alibaba], fallback-after: off}]
            """
    }
}
