// SPDX-License-Identifier: Apache-2.0
import Glibc

/// `micro OPERATION COUNT` repeats an operation and prints the time.
@main
enum Program {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 3, let count = Int(words[2]), count > 0,
            let operation = Operation(rawValue: words[1])
        else {
            print("usage: micro \(Operation.allCases.map(\.rawValue).joined(separator: "|")) COUNT")
            exit(2)
        }
        let work = operation.prepared()
        let start = processorTime
        let sum = work(count)
        let nanoseconds = processorTime - start
        print(
            """
            {"operation": "\(operation.rawValue)", "count": \(count), "sum": \(sum), \
            "ns": \(Double(nanoseconds) / Double(count))}
            """
        )
    }

    private static var processorTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
