// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct Vector: CustomTestStringConvertible, Sendable {
    let label: String
    let text: String
    let des: String
    let aes: String

    var testDescription: String { label }

    static subscript(label: String) -> Vector {
        guard let vector = all.first(where: { $0.label == label }) else {
            preconditionFailure("no vector \(label)")
        }
        return vector
    }

    /// Test vectors with the DES key `testkey1` and the AES key `1234567890123456`.
    ///
    /// The keys are from the vendor's iOS unit tests (MSDKDnsInfoToolTests.m). The initialization
    /// vector of AES has the octets 00, 01, … 0f in requests (label R), and f0, f1, … ff in replies
    /// (label S).
    ///
    /// The texts of the replies are from Tencent Cloud documents 379/54976 and 379/116336.
    static let all: [Vector] = {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "Vectors/tencent.tsv")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            preconditionFailure("cannot read \(file.path)")
        }
        return text.split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map {
                String($0).replacing("\\n", with: "\n")
            }
            return Vector(label: fields[0], text: fields[1], des: fields[2], aes: fields[3])
        }
    }()
}
