// SPDX-License-Identifier: Apache-2.0

/// Writes metrics as Prometheus reads them, in either of its two forms.
///
/// A family of metrics is written with what describes it, and not at all if it is empty.  Two samples
/// with the same labels would make a scraper refuse the whole: the second is left out.
struct Exposition {
    /// The forms of the text.
    enum Form: CaseIterable, Sendable {
        /// Version 0.0.4 of Prometheus's own.
        case prometheus

        /// OpenMetrics 1.0.0.
        case openMetrics

        /// The media type to be sent with it.
        var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// What kind of metrics a family has.
    enum Kind: String {
        /// Only grows.
        case counter

        /// Goes up and down.
        case gauge

        /// Times by how long they were.
        case histogram

        /// Always 1, for its labels.
        case info
    }

    /// The labels of a sample, in the order in which they are written.
    typealias Labels = KeyValuePairs<String, String>

    let form: Form
    private var text = ""

    /// The family that is being written: the name of its samples, and their lines.
    private var name = ""
    private var lines = ""
    private var labels: Set<String> = []

    /// An exposition without metrics.
    init(_ form: Form) { self.form = form }

    /// The whole, as it is sent.
    var octets: [UInt8] { Array((form == .openMetrics ? text + "# EOF\n" : text).utf8) }

    // MARK: - Families

    /// Writes a family of metrics.
    ///
    /// - Parameters:
    ///   - name: without `_total` and `_info`, which follow from the kind; with the unit at its end.
    ///   - help: a sentence.
    ///   - write: adds the samples.
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

    /// Writes a family of one metric without labels.
    mutating func single(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ value: some MetricValue
    ) {
        family(name, kind, help) { $0.add([:], value) }
    }

    // MARK: - Samples

    /// Adds a sample to the family that is being written.
    mutating func add(_ labels: Labels, _ value: some MetricValue) {
        line(name, labels.map { ($0.key, $0.value) }, value.metricText)
    }

    /// Adds a sample for each state that there is: 1 for the one that holds, 0 for the others.
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

    /// Adds a histogram of times.
    mutating func add(_ buckets: LatencyBuckets) {
        for (bound, count) in buckets.counts {
            line(name + "_bucket", [("le", "\(bound)")], "\(count)")
        }
        line(name + "_bucket", [("le", "+Inf")], "\(buckets.count)")
        line(name + "_sum", [], buckets.sum.metricText)
        line(name + "_count", [], "\(buckets.count)")
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        guard self.labels.insert("\(name)\(list)").inserted else { return }
        lines += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }

    /// A label's value: both forms escape the same three characters.
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

/// A number that metrics can have.
protocol MetricValue {
    /// As both forms write it.
    var metricText: String { get }
}

extension UInt64: MetricValue {
    var metricText: String { "\(self)" }
}

extension Int: MetricValue {
    var metricText: String { "\(self)" }
}

extension Double: MetricValue {
    var metricText: String { "\(self)" }
}

extension Bool: MetricValue {
    var metricText: String { self ? "1" : "0" }
}
