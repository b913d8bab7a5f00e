// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import Configuration

func problems(
    in text: String,
    environment: SettingsEnvironment = SettingsEnvironment()
) -> [String] { problems(in: [UInt8](text.utf8), environment: environment) }

func problems(
    in octets: [UInt8],
    environment: SettingsEnvironment = SettingsEnvironment()
) -> [String] {
    var found: [String] = []
    do throws(SettingsErrors) {
        _ = try Settings(parsing: octets, fileName: "f", environment: environment)
    } catch {
        found = error.problems.map(\.description)
    }
    SchemaJudge.compare(octets, with: found)
    return found
}

func settings(
    of text: String,
    environment: SettingsEnvironment = SettingsEnvironment()
) throws -> Settings {
    let settings = try Settings(parsing: text, fileName: "f", environment: environment)
    SchemaJudge.compare([UInt8](text.utf8), with: [])
    return settings
}

/// A valid file needs at least one upstream or route.
let isp = "upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]\n"

/// Checks the position of each error, and that its text has the expected words in this order.
func expectErrors(
    _ errors: [String],
    _ expected: [String],
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let digests = errors.enumerated().map { index, error in
        guard index < expected.count else { return error }
        var rest = error[...]
        for word in expected[index].split(separator: " ") {
            guard let range = rest.firstRange(of: word) else { return error }
            rest = rest[range.upperBound...]
        }
        return expected[index]
    }
    #expect(digests == expected, comment, sourceLocation: sourceLocation)
}

struct BadText: Sendable, CustomTestStringConvertible {
    var label: String
    var text: String
    var errors: [String]

    init(_ label: String, _ text: String, _ errors: String...) {
        self.label = label
        self.text = text
        self.errors = errors
    }

    var testDescription: String { label }
}

extension Settings {
    var withoutPlaces: Settings {
        var copy = self
        copy.warnings = []
        for index in copy.routes.indices { copy.routes[index].place = SettingsPlace() }
        for index in copy.vendors.indices { copy.vendors[index].place = SettingsPlace() }
        return copy
    }
}

func texts(_ values: [some Any]) -> [String] { values.map { "\($0)" } }

let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBNDCB56ADAgECAhROFWn0K2kb8/xU5bKevq8R/Cu0AjAFBgMrZXAwDzENMAsG
    A1UEAwwEdGVzdDAgFw0yNjExMjkwOTA0MjhaGA8yMTI2MTEwNTA5MDQyOFowDzEN
    MAsGA1UEAwwEdGVzdDAqMAUGAytlcAMhALdnC87qMHWYrYoolsnKJCnESok08CdF
    H90dogXMdyTDo1MwUTAdBgNVHQ4EFgQUXtVG/PCW++DYD6XG/JJ9MEzjHBAwHwYD
    VR0jBBgwFoAUXtVG/PCW++DYD6XG/JJ9MEzjHBAwDwYDVR0TAQH/BAUwAwEB/zAF
    BgMrZXADQQCHD+ywUD2t+h5s+N3iJ2rvs6nlwOm6B+8M9TyzpX4X0JQ7/srvyyZ/
    WYWBo/KbHOKXI1IT5p0jRMTlbMj0ypMD
    -----END CERTIFICATE-----

    """
