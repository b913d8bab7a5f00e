// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import Administration
@testable import Configuration

@Suite("Names of routes")
struct RouteNamesTests {
    @Test("a route is identified by its first domain")
    func routes() {
        func names(_ routes: (Int, String)...) -> RouteNames {
            RouteNames(
                routes.map { line, domain in
                    var route = RouteSettings(
                        place: SettingsPlace(file: "f", line: line, column: 1)
                    )
                    route.domains = [DomainPattern(literal: domain)]
                    return route
                }
            )
        }
        let old = names((3, "a.example"), (5, "b.example"), (7, "c.example"))
        #expect(old.changes(to: old) == [:])
        let new = names((3, "new.example"), (5, "a.example"), (7, "c.example"))
        #expect(old.changes(to: new) == ["f:3": "f:5", "f:5": "f:5, removed"])
    }
}
