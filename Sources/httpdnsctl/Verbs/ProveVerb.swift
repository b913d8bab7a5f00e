// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control

struct ProveVerb: Verb {
    static let configuration = CommandConfiguration(
        commandName: "prove",
        abstract: "Make billable calls, and compare the replies with what httpdnsd expects.",
        discussion: """
            Prints the cost first. Then makes one call for each feature of the vendor's protocol: \
            address families, an unknown name, a batch, client-subnet, wrong and expired signatures, \
            HTTP versions, the name in the certificate, and the other channels (encryptions) for \
            which the settings have keys. The calls count in the budget of the vendor. A call is \
            skipped if the calls could together cost more than --max-units.

            The report contains no keys, parameter values or account numbers. --vectors prints test \
            data for the parsers of httpdnsd instead: one JSON object for each reply with an \
            unencrypted body. These replies contain the name and its addresses.

            A call without a reply, for example if the server refuses connections, is shown as \
            skipped, with the reason. A call with `client-subnet` is also shown as skipped if its \
            reply has no client address. Exits with 4 if a reply differs from the vendor's \
            documentation, and with 1 if there was no reply to compare.

            EXAMPLES
              httpdnsctl prove alibaba --name www.example.com
              httpdnsctl prove tencent --max-units 10 --json
              httpdnsctl prove alidns --vectors > alidns.jsonl
            """
    )

    @OptionGroup var options: Options

    @Argument(help: "Vendor in the settings.")
    var vendor: String

    @Option(
        name: .long,
        help: "Name that is registered with the vendor. (default: a name in the vendor's routes)"
    )
    var name: String?

    @Option(
        name: .long,
        help: "Maximum number of billed units. (default: \(ControlLimits.provedUnits))"
    )
    var maxUnits: UInt64?

    @Flag(name: .long, help: "Print the replies as JSON lines for tests.")
    var vectors = false

    private static let callTime = Duration.seconds(30)

    func perform(over client: ControlClient) throws(Failure) -> ExitStatus {
        var request = ProveRequest(vendor: vendor, name: name, maxUnits: maxUnits, plan: true)
        let plan = try client.call(.prove, request).checked(as: ProveReply.self)
        Output.error(ProveText.plan(plan))
        request.plan = nil
        var steps: [ProofStep] = []
        let printsText = !options.printsJSON && !vectors
        try client.stream(.prove, request, as: ProveReply.self, silence: Self.callTime) {
            reply throws(Failure) in
            for step in reply.steps {
                steps.append(step)
                if printsText { try Output.write(ProveText.step(step, Output.palette)) }
                if vectors, let vector = step.vector {
                    try Output.write(try JSONOutput.text(vector, indented: false) + "\n")
                }
            }
        }
        if options.printsJSON, !vectors {
            var report = plan
            report.steps = steps
            try Output.write(try JSONOutput.text(report, indented: true) + "\n")
        } else if printsText {
            try Output.write(ProveText.summary(steps))
        }
        if steps.contains(where: { $0.verdict == .differs }) { return .degraded }
        return steps.contains { $0.verdict == .agrees } ? .ok : .failed
    }
}
