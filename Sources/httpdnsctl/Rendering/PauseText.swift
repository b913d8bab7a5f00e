// SPDX-License-Identifier: Apache-2.0
import Control

/// `pause` and `resume` for people.
enum PauseText {
    /// The state of the vendor or upstream, in one line.
    static func render(_ reply: PauseReply, isPause: Bool) -> String {
        let name = reply.vendor ?? reply.upstream ?? ""
        let calls = Units.count(reply.inFlight, "call under way goes on", "calls under way go on")
        let verdict =
            switch (isPause, reply.changed) {
            case (true, true):
                "is paused until it is resumed or the daemon starts anew"
                    + (reply.inFlight > 0 ? "; \(calls)" : "")
            case (true, false): "was paused already"
            case (false, true): "is asked again"
            case (false, false): "was not paused"
            }
        // A resumed vendor may still not be asked, for a reason that no operator can lift.
        let rest = isPause ? nil : reply.rest.map { "; it " + VendorText.rest($0, of: name) }
        return printable("\(name) \(verdict)\(rest ?? "")") + "\n"
    }
}
