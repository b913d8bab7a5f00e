// SPDX-License-Identifier: Apache-2.0

/// Text of metrics in one of the two Prometheus exposition formats.
///
/// Omits a sample if an earlier sample has the same name and labels: with both samples, a scraper
/// would reject the whole text.
package struct Exposition {
    enum Form: CaseIterable, Sendable {
        case prometheus

        case openMetrics

        var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    enum Kind: String {
        case counter
        case gauge
        case histogram
        case info
    }

    typealias Labels = KeyValuePairs<String, String>

    let form: Form
    private var text = ""
    private var name = ""
    private var lines = ""
    private var labels: Set<String> = []
    init(_ form: Form) { self.form = form }
    var octets: [UInt8] { Array((form == .openMetrics ? text + "# EOF\n" : text).utf8) }

    // MARK: - Families

    /// - Parameter name: without `_total` or `_info`, which `kind` adds.
    mutating func family(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ write: (inout Exposition) -> Void
    ) {
        let unit = ["seconds", "bytes"].first { name.hasSuffix("_\($0)") }
        self.name =
            switch kind {
            case .counter: name + "_total"
            case .info: name + "_info"
            case .gauge, .histogram: name
            }
        lines = ""
        labels = []
        write(&self)
        guard !lines.isEmpty else { return }
        switch form {
        case .prometheus:
            text += "# HELP \(self.name) \(help)\n"
            text += "# TYPE \(self.name) \(kind == .info ? .gauge : kind)\n"
        case .openMetrics:
            text += "# TYPE \(name) \(kind)\n"
            if let unit { text += "# UNIT \(name) \(unit)\n" }
            text += "# HELP \(name) \(help)\n"
        }
        text += lines
    }

    mutating func single(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ value: some CustomStringConvertible
    ) {
        family(name, kind, help) { $0.add([:], value) }
    }

    // MARK: - Samples

    mutating func add(_ labels: Labels, _ value: some CustomStringConvertible) {
        line(name, labels.map { ($0.key, $0.value) }, "\(value)")
    }

    mutating func add<State: Equatable>(
        _ labels: [(String, String)],
        state: State?,
        of all: [(State, String)],
        as label: String = "state"
    ) {
        for (other, text) in all {
            line(name, labels + [(label, text)], state == other ? "1" : "0")
        }
    }

    mutating func add(_ buckets: LatencyBuckets) {
        for (bound, count) in buckets.counts {
            line(name + "_bucket", [("le", "\(bound)")], "\(count)")
        }
        line(name + "_bucket", [("le", "+Inf")], "\(buckets.count)")
        line(name + "_sum", [], "\(buckets.sum)")
        line(name + "_count", [], "\(buckets.count)")
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        guard self.labels.insert("\(name)\(list)").inserted else { return }
        lines += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }

    private static func escaped(_ value: String) -> String {
        guard value.contains(where: { $0 == "\\" || $0 == "\"" || $0.isNewline }) else {
            return value
        }
        return value.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            case "\r": " "
            default: String(scalar)
            }
        }.joined()
    }
}
