// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct SealedText: Sendable, CustomTestStringConvertible {
    let label: String
    let plain: String
    let des: String
    let aes: String
    var testDescription: String { label }
}

/// Vectors for document 379/95499, with keys of the vendor's unit tests.
///
/// Computed with python-cryptography, checked with openssl(1).
enum TencentVectors {
    static let desKey = "testkey1"
    static let aesKey = "1234567890123456"

    static let requestVector = [UInt8](0x00...0x0F)

    static let replyVector = [UInt8](0xF0...0xFF)

    static let requests = all.filter { $0.label.hasPrefix("R") }

    static let replies = all.filter { $0.label.hasPrefix("S") }

    private static let all: [SealedText] = {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "Vectors/tencent.tsv")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            preconditionFailure("cannot read \(file.path)")
        }
        return text.split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map {
                String($0).replacing("\\n", with: "\n")
            }
            return SealedText(label: fields[0], plain: fields[1], des: fields[2], aes: fields[3])
        }
    }()

    static func reply(_ label: String) throws -> SealedText {
        try #require(replies.first { $0.label == label })
    }
}
