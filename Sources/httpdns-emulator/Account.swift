// SPDX-License-Identifier: Apache-2.0

/// Account numbers and secrets of all vendors, with demo values.
struct Account: Sendable, Equatable {
    enum Field: String, CaseIterable, Sendable {
        case id
        case keyDES = "key-des"
        case keyAES = "key-aes"
        case token
        case alibabaID = "alibaba-id"
        case alibabaSecret = "alibaba-secret"
        case alibabaAES = "alibaba-aes"
        case alibabaAccessKeyID = "alibaba-key-id"
        case alibabaAccessKeySecret = "alibaba-key-secret"
        case alidnsUID = "alidns-uid"
        case alidnsKey = "alidns-ak"
        case alidnsSecret = "alidns-secret"
        case baiduID = "baidu-id"
        case baiduSecret = "baidu-secret"
        case volcengineID = "volcengine-id"
        case volcengineSecret = "volcengine-secret"

        /// Demo value; the demo values of Baidu and Volcengine are from the vendor documents.
        var demo: String {
            switch self {
            case .id: "12345"
            case .keyDES: "testkey1"
            case .keyAES: "1234567890123456"
            case .token: "987654321"
            case .alibabaID: "100000"
            case .alibabaSecret: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
            case .alibabaAES: "000102030405060708090a0b0c0d0e0f"
            case .alibabaAccessKeyID: "testid"
            case .alibabaAccessKeySecret: "testsecret"
            case .alidnsUID: "9999"
            case .alidnsKey: "testak"
            case .alidnsSecret: "testsecret"
            case .baiduID: "107080"
            case .baiduSecret: "1234567890"
            case .volcengineID: "1023"
            case .volcengineSecret: "QlgAuFMwNUwN"
            }
        }

        func complaint(about value: String) -> String? {
            switch self {
            case .id:
                Int32(value).map { $0 > 0 } == true
                    ? nil : "'\(value)' is not a positive 32-bit integer"
            case .token, .alibabaID, .alidnsUID, .baiduID, .volcengineID:
                value.isDigits && Int(value) != nil ? nil : "not a positive integer"
            case .keyDES: value.utf8.count == 8 ? nil : "\(value.utf8.count) octets, not 8"
            case .keyAES: value.utf8.count == 16 ? nil : "\(value.utf8.count) octets, not 16"
            case .alibabaAES: Hex.decode(value)?.count == 16 ? nil : "not 32 hexadecimal digits"
            case .alibabaAccessKeyID, .alibabaAccessKeySecret, .alibabaSecret, .alidnsKey,
                .alidnsSecret, .baiduSecret, .volcengineSecret:
                value.isEmpty ? "empty" : nil
            }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private var values: [Field: String] = [:]

    subscript(field: Field) -> String {
        get { values[field] ?? field.demo }
        set { values[field] = newValue }
    }

    /// Sets fields from lines `FIELD = VALUE`; `#` starts a comment.
    mutating func apply(text: String) throws(Failure) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard !words.isEmpty else { continue }
            guard words.count == 3, words[1] == "=" else {
                throw Failure(description: "line \(index + 1): expected 'FIELD = VALUE'")
            }
            guard let field = Field(rawValue: String(words[0])) else {
                throw Failure(description: "line \(index + 1): unknown field '\(words[0])'")
            }
            self[field] = String(words[2])
        }
    }

    mutating func apply(option: String) throws(Failure) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw Failure(description: "'\(option)' is not FIELD=VALUE") }
        guard let field = Field(rawValue: String(parts[0])) else {
            throw Failure(description: "unknown field '\(parts[0])'")
        }
        self[field] = String(parts[1])
    }

    func check() throws(Failure) {
        for field in Field.allCases {
            if let complaint = field.complaint(about: self[field]) {
                throw Failure(description: "\(field.rawValue): \(complaint)")
            }
        }
    }
}
