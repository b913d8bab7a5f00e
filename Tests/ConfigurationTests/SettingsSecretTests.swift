// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPDNS
import TestWorld
import Testing

@testable import Configuration

@Suite("Secrets are in protected files and never printed")
struct SettingsSecretTests {
    private func vendor(_ options: String) -> String {
        isp + "routes: [{domains: [example.com], vendors: [t]}]\n"
            + "vendors: {t: {kind: tencent, \(options)}}\n"
    }

    /// Token with digits that occur in no other text of the test.
    private let token = "8675309042"

    @Test("the final newline is not part of the secret", arguments: ["", "\n", "\r\n"])
    func newline(end: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(token + end, to: "token", mode: 0o640)
        let loaded = try settings(of: vendor("token: {file: \(file)}"))
        let secret = try #require(loaded.vendors.first?.tencent.token)
        #expect(secret.value.copy == [UInt8](token.utf8))
        #expect(secret.source == .file(file))
    }

    @Test("a credential is read from $CREDENTIALS_DIRECTORY")
    func credential() throws {
        let folder = try TemporaryFolder()
        // Mode 0644 is accepted, because systemd protects the directory of credentials.
        _ = try folder.write(token, to: "tencent-token", mode: 0o644)
        let text = vendor("token: {credential: tencent-token}")
        let environment = SettingsEnvironment(credentialsDirectory: folder.path)
        let loaded = try settings(of: text, environment: environment)
        let secret = try #require(loaded.vendors.first?.tencent.token)
        #expect(secret.value.copy == [UInt8](token.utf8))
        #expect(loaded.effectiveText.contains("token: {credential: tencent-token}"))

        expectErrors(
            problems(in: text),
            ["f:3:37: `vendors.t.token` $CREDENTIALS_DIRECTORY LoadCredential=tencent-token:PATH"]
        )
        for name in ["..", "a/b", "../x", ""] {
            let found = problems(
                in: vendor("token: {credential: \"\(name)\"}"),
                environment: environment
            )
            #expect(found.count == 1, "\(name): \(found)")
        }
    }

    @Test("a secret file that is unsafe or unusable is an error")
    func badFiles() throws {
        let folder = try TemporaryFolder()
        let open = try folder.write(token, to: "open", mode: 0o604)
        let empty = try folder.write("\n", to: "empty")
        let long = try folder.write(String(repeating: "1", count: 5000), to: "long")
        let word = try folder.write("hunter2", to: "word")
        let reasons = [
            (open, "\(open) `chmod o= \(open)`"), (empty, "\(empty) empty"), (long, "\(long) 4096"),
            (word, "token decimal"), ("\(folder.path)/absent", "No such file"),
            (folder.path, "\(folder.path) directory"),
        ]
        for (file, reason) in reasons {
            expectErrors(problems(in: vendor("token: {file: \(file)}")), ["f:3:37: " + reason])
            let isSecret = [empty, long, word].contains(file)
            #expect(
                errors(in: vendor("token: {file: \(file)}")).map(\.describesSecret) == [isSecret]
            )
        }
    }

    private func errors(in text: String) -> [SettingsComplaint] {
        do throws(SettingsErrors) {
            _ = try Settings(parsing: text, fileName: "f", environment: SettingsEnvironment())
            return []
        } catch {
            return error.problems
        }
    }

    @Test("a key must have the length that its cipher requires")
    func lengths() throws {
        let folder = try TemporaryFolder()
        let eight = try folder.write("testkey1", to: "8")
        let nine = try folder.write("testkey12", to: "9")
        let sixteen = try folder.write("1234567890123456\n", to: "16")
        let des = try settings(
            of: vendor("channel: des, id: 1, key: {file: \(eight)}, calls-per-second: 1")
        )
        #expect(
            des.warnings.map(\.message) == [
                "DES can be broken, and its answers can be forged; they are labelled as unprotected"
                    + "; set `channel: https`"
            ]
        )
        _ = try settings(of: vendor("channel: aes, id: 1, key: {file: \(sixteen)}"))
        expectErrors(
            problems(in: vendor("channel: aes, id: 1, key: {file: \(nine)}")),
            ["f:3:56: 9 aes 16"]
        )
        let text = vendor("channel: aes, id: 1, key: {file: \(nine)}")
        #expect(errors(in: text).map(\.describesSecret) == [true])
        expectErrors(
            problems(in: vendor("channel: des, id: 1, key: {file: \(nine)}")),
            ["f:3:56: 9 des 8"]
        )
    }

    @Test("each channel requires its own secrets")
    func needs() {
        expectErrors(problems(in: vendor("channel: https")), ["f:3:11: `t` needs `token`"])
        expectErrors(
            problems(in: vendor("channel: aes")),
            ["f:3:11: `t` needs `id`", "f:3:11: `t` needs `key`"]
        )
    }

    @Test(
        "a value that may be a secret is never quoted",
        arguments: [
            "token: 8675309042", "token: [8675309042]", "token: {8675309042}",
            "token: {fiel: 8675309042}", "token: {file: 8675309042}", "token: {file: [8675309042]}",
            "token: {credential: \"8675309042!\"}", "token: {file: /x, credential: 8675309042}",
            "token: \"8675309042",
        ]
    )
    func literals(option: String) {
        let found = problems(in: vendor(option))
        #expect(!found.isEmpty)
        #expect(!found.contains { $0.contains(token) }, "\(found)")
    }

    @Test("a literal secret is an error with a hint")
    func literalHint() {
        expectErrors(problems(in: vendor("token: 1")), ["f:3:37: `vendors.t.token` {file: PATH}"])
        expectErrors(
            problems(in: vendor("token: {fiel: /x}")),
            ["f:3:37: `vendors.t.token` `file`"]
        )
    }

    @Test("no printed form of the settings has a secret")
    func redaction() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(token, to: "token")
        let loaded = try settings(of: vendor("token: {file: \(file)}"))
        let secret = try #require(loaded.vendors.first?.tencent.token)
        #expect("\(secret)" == "(secret)")
        #expect(String(reflecting: secret) == "(secret)")
        #expect(Mirror(reflecting: secret).children.isEmpty)
        var dumped = ""
        dump(loaded, to: &dumped)
        let texts = [
            dumped, "\(loaded)", String(reflecting: loaded), loaded.effectiveText, "\([secret])",
            "\(Optional(secret) as Any)", "\(Mirror(reflecting: secret))",
        ]
        for text in texts { #expect(!text.contains(token)) }
        // The token starts with "867", which are the octets 56, 54 and 55.
        for text in texts { #expect(!text.contains("56, 54, 55")) }
    }

    @Test("`--check` outside the systemd unit only warns about missing credentials")
    func withoutCredentials() throws {
        let text =
            isp + "routes: [{domains: [example.com], vendors: [t]}]\n"
            + "vendors: {t: {kind: tencent, token: {credential: tencent.token},"
            + " calls-per-second: 1}}\n"
        var environment = SettingsEnvironment()
        #expect(problems(in: text, environment: environment).count == 1)
        environment.passesOverCredentials = true
        let settings = try Settings(parsing: text, fileName: "f", environment: environment)
        let warnings = settings.warnings.map(\.description)
        #expect(warnings.count == 1 && warnings[0].contains("is not checked"), "\(warnings)")
        let wrong = text.replacing("kind: tencent", with: "kind: tencent, timeot: 1s")
        #expect(problems(in: wrong, environment: environment).count == 1)
    }
}
