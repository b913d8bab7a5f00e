// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Logging
import TestWorld
import Testing

@testable import Administration
@testable import Control
@testable import Net

@Suite("Permissions on the control socket")
struct ControlAccessTests {
    func peer(uid: UInt32, gid: UInt32) -> StreamConnection.Credentials {
        StreamConnection.Credentials(pid: 1, uid: uid, gid: gid)
    }

    @Test("even with mode 0666, only root and the socket's owner and group may make changes")
    func rule() {
        let closed = ControlAccess(mode: 0o660, group: 50, owner: 100)
        #expect(closed.mayChange(peer(uid: 1000, gid: 1000)))
        let open = ControlAccess(mode: 0o666, group: 50, owner: 100)
        #expect(open.mayChange(peer(uid: 0, gid: 0)))
        #expect(open.mayChange(peer(uid: 100, gid: 7)))
        #expect(open.mayChange(peer(uid: 1000, gid: 50)))
        #expect(!open.mayChange(peer(uid: 1000, gid: 1000)))
        let unowned = ControlAccess(mode: 0o666, group: nil, owner: 100)
        #expect(!unowned.mayChange(peer(uid: 1000, gid: 50)))
    }

    @Test(
        "an untrusted peer may call only methods that read state",
        arguments: [
            (#"{"method":"io.httpdnsd.Control.Status"}"#, true),
            (#"{"method":"io.httpdnsd.Control.Stats"}"#, true),
            (#"{"method":"io.httpdnsd.Control.Stats","parameters":{"reset":false}}"#, true),
            (#"{"method":"io.httpdnsd.Control.Stats","parameters":{"reset":true}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Flush","parameters":{"all":true}}"#, false),
            (
                #"{"method":"io.httpdnsd.Control.Lookup","parameters":{"name":"www.example.com"}}"#,
                true
            ),
            (#"{"method":"io.httpdnsd.Control.Explain","parameters":{"name":"a"}}"#, true),
            (
                #"{"method":"io.httpdnsd.Control.Explain","parameters":{"name":"a","live":true}}"#,
                false
            ),
            (#"{"method":"io.httpdnsd.Control.Resolve","parameters":{"names":["a"]}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"cost"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"names"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"slow"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Bill"}"#, false),
            (#"{"method":"io.httpdnsd.Control.Bill","parameters":{"reset":"tencent"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Pause","parameters":{"vendor":"tencent"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Resume","parameters":{"vendor":"tencent"}}"#, false),
            (#"{"method":"io.httpdnsd.Control.Version"}"#, true),
            (#"{"method":"org.varlink.service.GetInfo"}"#, true),
        ]
    )
    @ServiceLoop
    func untrustedPeer(_ text: String, _ allowed: Bool) async throws {
        let dispatcher = ControlDispatcher(
            handler: FixedHandler(),
            access: ControlAccess(mode: 0o666, group: 50, owner: 100),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        for (peer, allowed) in [
            (peer(uid: 1000, gid: 1000), allowed), (peer(uid: 1000, gid: 50), true),
        ] {
            let sent = Sent()
            try await dispatcher.answer(try Call(message: Array(text.utf8)), from: peer) {
                sent.messages.append($0)
            }
            try #require(sent.messages.count == 1)
            let reply = try Reply(message: sent.messages[0].dropLast())
            #expect(reply.error == (allowed ? nil : "io.httpdnsd.Control.Denied"))
        }
    }

    @Test("an untrusted peer may not dump the cache or watch queries")
    @ServiceLoop
    func untrustedPeerStreams() async throws {
        let dispatcher = ControlDispatcher(
            handler: FixedHandler(),
            access: ControlAccess(mode: 0o666, group: 50, owner: 100),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        for method in ["Dump", "Watch"] {
            let call = Call("io.httpdnsd.Control.\(method)", more: true)
            for (group, replies) in [(UInt32(1000), 1), (50, method == "Dump" ? 3 : 2)] {
                let sent = Sent()
                try await dispatcher.answer(call, from: peer(uid: 1000, gid: group)) {
                    sent.messages.append($0)
                }
                #expect(sent.messages.count == replies, "\(method)")
                let last = try Reply(message: try #require(sent.messages.last).dropLast())
                #expect(last.error == (group == 50 ? nil : "io.httpdnsd.Control.Denied"))
            }
        }
    }

    @ServiceLoop
    final class Sent {
        var messages: [[UInt8]] = []
        nonisolated init() {}
    }

    @Test(
        "the daemon looks up a group name only in the group file, not with NSS",
        arguments: [
            ("httpdns", 990), ("root", 0), ("", nil), ("nobody", nil), ("broken", nil),
            ("short", nil), ("http", nil), ("# note", nil),
        ] as [(String, UInt32?)]
    )
    func groups(_ name: String, _ number: UInt32?) {
        let text = """
            # note
            root:x:0:
            short:x:5

            broken:x:many:
            httpdns:x:990:alice,bob
            httpdns:x:991:
            """
        #expect(GroupFile.number(of: name, in: text) == number)
    }

    @Test("without a group file, a group number is valid, but a group name is unknown")
    func numbers() {
        #expect(GroupFile.number(of: "123", path: "/nowhere") == 123)
        #expect(GroupFile.number(of: "12a", path: "/nowhere") == nil)
        #expect(GroupFile.number(of: "99999999999", path: "/nowhere") == nil)
        #expect(GroupFile.number(of: "", path: "/nowhere") == nil)
    }

    @Test("the socket has the configured mode and group")
    @ServiceLoop
    func file() async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/control.sock"
        try Data("ours:x:\(getegid()):\n".utf8).write(to: URL(fileURLWithPath: folder + "/group"))

        let socket = try GroupSocket.open(
            "control",
            path: path,
            mode: 0o660,
            group: "ours",
            groupFile: folder + "/group"
        )
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o660)
        #expect(status.st_gid == getegid())
        #expect(socket.warning == nil)
        #expect(socket.access == ControlAccess(mode: 0o660, group: getegid(), owner: geteuid()))
    }

    @Test("if the configured group does not exist, the socket keeps the daemon's group")
    @ServiceLoop
    func missingGroup() async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/control.sock"
        let socket = try GroupSocket.open(
            "control",
            path: path,
            mode: 0o660,
            group: "absent",
            groupFile: folder + "/group"
        )
        #expect(socket.warning?.hasPrefix("group absent does not exist") == true)
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_gid == getegid())
        #expect(socket.access.group == getegid())
    }
}
