// SPDX-License-Identifier: Apache-2.0
import Foundation

struct Admin {
    let emulator: Emulator
    static func owns(_ path: String) -> Bool { path.hasPrefix("/_emulator/") }

    func response(to request: Request) -> Response {
        switch (request.method, request.path) {
        case ("GET", "/_emulator/calls"):
            return Response(text: emulator.calls.json(zone: emulator.loaded), type: Self.json)

        case ("GET", "/_emulator/bill"):
            return Response(json: emulator.bill.json)

        case ("GET", "/_emulator/faults"):
            return Response(text: emulator.faults.texts.map { $0 + "\n" }.joined())

        case ("POST", "/_emulator/faults"):
            return replaceFaults(String(decoding: request.body, as: UTF8.self))

        case ("POST", "/_emulator/reset"):
            emulator.calls.reset()
            emulator.bill.reset()
            return Response(text: "reset\n")

        case ("POST", "/_emulator/reload"):
            do throws(ZoneError) {
                try emulator.reload()
                return Response(text: "reloaded\n")
            } catch {
                return Response(status: 400, text: "zone: \(error), keeping the old zone\n")
            }

        case ("POST", "/_emulator/clock"):
            let text = String(decoding: request.body, as: UTF8.self)
            guard let seconds = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                return Response(
                    status: 400,
                    text: "expected seconds as a number, keeping the old offset\n"
                )
            }
            emulator.clock.set(offset: seconds)
            return Response(text: "set\n")

        case (_, "/_emulator/calls"), (_, "/_emulator/faults"), (_, "/_emulator/reset"),
            (_, "/_emulator/reload"), (_, "/_emulator/clock"), (_, "/_emulator/bill"):
            return Response(status: 405)

        default: return Response(status: 404)
        }
    }

    private static let json = "application/json"

    private func replaceFaults(_ text: String) -> Response {
        let lines = text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        guard lines.count <= Limits.faults else {
            return Response(
                status: 400,
                text: "more than \(Limits.faults) faults, keeping the old faults\n"
            )
        }
        do throws(Fault.Failure) {
            var faults: [Fault] = []
            for line in lines { faults.append(try Fault(line)) }
            emulator.faults.replace(with: faults)
            return Response(text: "active faults: \(faults.count)\n")
        } catch {
            return Response(status: 400, text: "\(error), keeping the old faults\n")
        }
    }
}
