// SPDX-License-Identifier: Apache-2.0
import Control

enum PauseText {
    static func render(_ reply: PauseReply, isPause: Bool) -> String {
        let name = reply.vendor ?? reply.upstream ?? ""
        let calls = Units.count(
            reply.inFlight,
            "call in flight continues",
            "calls in flight continue"
        )
        let verdict =
            switch (isPause, reply.changed) {
            case (true, true):
                "is paused until `resume` or a restart of the daemon"
                    + (reply.inFlight > 0 ? "; \(calls)" : "")
            case (true, false): "is already paused"
            case (false, true): "is resumed"
            case (false, false): "is not paused"
            }
        // After a resume, another reason, such as the budget, may still prevent calls.
        let rest =
            isPause ? nil : reply.rest.map { "; not called yet: " + VendorText.rest($0, of: name) }
        let lines =
            ["\(name) \(verdict)\(rest ?? "")"]
            + (reply.problems ?? []).map { "warning: \($0)" }
        return lines.map { printable($0) + "\n" }.joined()
    }
}
