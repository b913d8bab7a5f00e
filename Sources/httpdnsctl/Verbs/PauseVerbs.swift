// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

/// `httpdnsctl pause`.
struct PauseVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Leave a vendor alone until it is resumed.",
        discussion: """
            Its names go to the next vendor of their route, or to the fallback; calls under way go \
            on, and what the cache holds is answered. It is no degradation: `status` shows it and exits \
            with 0.

            A pause ends with `resume`, or when the daemon starts anew; a reload keeps it. What is to \
            last belongs into the settings: take the vendor out of its routes.

            EXAMPLES
              httpdnsctl pause tencent
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The vendor's name in the settings.")
    var vendor: String

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.pause, VendorRequest(vendor: vendor))
        try show(reply, as: VendorChange.self) { change, _ in
            VendorText.render(change, isPause: true)
        }
        return .ok
    }
}

/// `httpdnsctl resume`.
struct ResumeVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Ask a vendor again.",
        discussion: """
            Ends an operator's pause, and the five minutes of rest after a vendor has refused the \
            account (401, 403). It ends neither a rest that the vendor asked for (429) nor that of a \
            spent budget.

            EXAMPLES
              httpdnsctl resume tencent
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "The vendor's name in the settings.")
    var vendor: String

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        let reply = try client.call(.resume, VendorRequest(vendor: vendor))
        try show(reply, as: VendorChange.self) { change, _ in
            VendorText.render(change, isPause: false)
        }
        return .ok
    }
}
