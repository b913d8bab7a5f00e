// SPDX-License-Identifier: Apache-2.0
import Testing

struct Vector: CustomTestStringConvertible, Sendable {
    /// R: requests of clients; S: replies of servers.
    let label: String
    let text: String
    /// Hexadecimal.
    let des: String
    /// IV first; hexadecimal.
    let aes: String

    var testDescription: String { label }

    static subscript(label: String) -> Vector {
        guard let vector = all.first(where: { $0.label == label }) else {
            preconditionFailure("no vector \(label)")
        }
        return vector
    }

    /// DES key `testkey1`, AES key `1234567890123456`, IV 00...0f (R) or f0...ff (S).
    ///
    /// The keys are from the vendor's iOS unit tests (MSDKDnsInfoToolTests.m). The texts of S are
    /// from documents 379/54976 and 379/116336. python-cryptography and openssl(1) agree.
    static let all: [Vector] = [
        Vector(
            label: "R1",
            text: "test.example.com",
            des: "5d364817c5ad15ecaaeac9aea37f7ef816c3b7294cce37a3",
            aes: """
                000102030405060708090a0b0c0d0e0f40f25cacd8c35931c1764486b177679e545d8206\
                9314c8c312b384f46f368059
                """
        ),
        Vector(
            label: "R2",
            text: "www.qq.com",
            des: "a2135dd5db6f47d1474b0f976a2ac70f",
            aes: "000102030405060708090a0b0c0d0e0f0750a1befeca8827e2aafde29cfbd1ab"
        ),
        Vector(
            label: "R3",
            text: "cloud.tencent.com,www.qq.com,www.dnspod.cn",
            des: """
                259d8ada730fdad2d63b1cf1184a88b3ad699eba8159556702ff5c04999990d13a9e22b4\
                e546d5c4dc0b6bc74632e8e3
                """,
            aes: """
                000102030405060708090a0b0c0d0e0fa54278f99257ad6d4f331259cb322876c5849114\
                7f25d39fcc53fb21e467c37ebb923aac6f7808394cd4c846d1a488cf
                """
        ),
        Vector(
            label: "R4",
            text: "www.qq.com;1700000600",
            des: "a2135dd5db6f47d19d0075a0b33ebc13658d6f678bb7930a",
            aes: """
                000102030405060708090a0b0c0d0e0f8bf9392a1e61fd9b30c470366d2aa90d3f12138a\
                4a400d8bc79721f7202db0d1
                """
        ),
        Vector(
            label: "R5",
            text: "cloud.tencent.com,www.qq.com,www.dnspod.cn;1700000600",
            des: """
                259d8ada730fdad2d63b1cf1184a88b3ad699eba8159556702ff5c04999990d13a9e22b4\
                e546d5c4301c3ee507a3d5b0658d6f678bb7930a
                """,
            aes: """
                000102030405060708090a0b0c0d0e0fa54278f99257ad6d4f331259cb322876c5849114\
                7f25d39fcc53fb21e467c37eb8366254151c65a3516b6ee18ac16b214ff58c1133e2b391\
                8a8e3baeb2e8192c
                """
        ),
        Vector(
            label: "R6",
            text: "1.2.3.4",
            des: "822d19f81731d05b",
            aes: "000102030405060708090a0b0c0d0e0ff297723859a95d3a8a81b208b9959fb6"
        ),
        Vector(
            label: "R7",
            text: "2402:4e00::1",
            des: "387ec1597271bf05bf9966616d569062",
            aes: "000102030405060708090a0b0c0d0e0f49a65c1037364b85fe135e00b44688ad"
        ),
        Vector(
            label: "R8",
            text: "abcdefg",
            des: "c9d112f1e95d1736",
            aes: "000102030405060708090a0b0c0d0e0f3b678e9580e6247b7f846aa0819793ba"
        ),
        Vector(
            label: "R9",
            text: "abcdefgh",
            des: "ed0a21c0dce5758116c3b7294cce37a3",
            aes: "000102030405060708090a0b0c0d0e0ff47675d9757457ecbc51cb9e18828f8f"
        ),
        Vector(
            label: "S1",
            text: "2.3.3.4;2.3.3.5;2.3.3.6",
            des: "108925292e6c5da5367d7f8bcdc1e2e0b400b604d26b3948",
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b50411a115697\
                89828fc215a4faf688542a5b
                """
        ),
        Vector(
            label: "S2",
            text: "2.3.3.4;2.3.3.5;2.3.3.6,120",
            des: "108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cb22cf64ad8eef9fc3",
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041110b6695\
                744939c642ebca4a7c657ec3
                """
        ),
        Vector(
            label: "S3",
            text: "2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            des: """
                108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cbe7810e56c27373dbad52d66c\
                d57fb101
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041f8d9d650\
                3b786adcd214e5d58114a283aacfe8cc288816a186c704e29f9992cd
                """
        ),
        Vector(
            label: "S4",
            text: """
                2.3.3.4;2.3.3.5;2.3.3.6,120-2402:4e00:0123:4567:0::2345;2403:4e00:0123:4\
                567:0::2346,120|1.2.3.4
                """,
            des: """
                108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cb021356f39a29101eaae8121e\
                4a90f3e9993f3b6e8467981cc82fe2915dd13b7182096c82ef61e2685249165492ad8ed8\
                497e289a4ff50ff5e4ac3e41b9e0c77d822d19f81731d05b
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b50414ec518fe\
                51de7f8ecf7565df9a2ab91ed4c452c2faf39343679882987e62fba61b755b744aedc4df\
                3d1c7b45d6b57c0fd367d7d278810a7e0d45574c7407e73bf537b3c02443b25438b36849\
                aaefaa4e
                """
        ),
        Vector(
            label: "S5",
            text: "cloud.tencent.com.:2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            des: """
                259d8ada730fdad2d63b1cf1184a88b3f0f2cb3c7ebadfd09bba2898e3046c9e3ef5d935\
                3e342baea6424f3bd13f402c7eba67e1ad5fb62b
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6515fec5c\
                e9a1d321f7161e3dc435400f8fb93f2b578c8f82089f4cf7223db91f19218226f8701cb9\
                17b57c552bb829a8
                """
        ),
        Vector(
            label: "S6",
            text: """
                cloud.tencent.com.:2.3.3.4;2.3.3.5;2.3.3.6,120\nwww.qq.com.:2.3.3.4;2.3.3\
                .5;2.3.3.6,180\nwww.dnspod.cn.:2.3.3.4;2.3.3.5;2.3.3.6,60|1.2.3.4
                """,
            des: """
                259d8ada730fdad2d63b1cf1184a88b3f0f2cb3c7ebadfd09bba2898e3046c9e3ef5d935\
                3e342baee4ae1ba8f5babee4990565f15c28160df0f2cb3c7ebadfd09bba2898e3046c9e\
                3ef5d9353e342bae4713c69dcf411d0885ba83f6bb284feb1338a4a3c4c8d96e8144af97\
                71b3422b01fd8a3e45868bea58f20e81b9731a84b043ded7acdf5b0a16c3b7294cce37a3
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6515fec5c\
                e9a1d321f7161e3dc435400f51e6de0b5d2f823dab8dfea8a4d02b759b25fc3c2cb7e57f\
                034eb1d9ba90ac0cfaccf9a01dd67409237cc8244e212ed2aa8a4c57548ca4dc38f40804\
                a4caf2e0b2da2f9dc81f8d9c12c3afd37c58cdfb2fb360350592820cb8a1eccd1e8d6eed\
                846fe2220aba39eef2009edad04596bc
                """
        ),
        Vector(
            label: "S7",
            text: "cloud.tencent.com.:0-0|1.2.3.4",
            des: "259d8ada730fdad2d63b1cf1184a88b3ddc6d667ca074f977eba67e1ad5fb62b",
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f695243868\
                03f284ff05232498664fdfc7
                """
        ),
        Vector(
            label: "S8",
            text: "cloud.tencent.com.:2.3.4.5;3.3.3.3-0|1.2.3.4",
            des: """
                259d8ada730fdad2d63b1cf1184a88b390c21900b0402fb885252cb38e941c637e596610\
                87a0ccbdae9c67af1736b4ea
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6c091ac6f\
                a618bec03c21e4892d73c8e0f3263a651f2414fd9e9032a6c5155797
                """
        ),
        Vector(
            label: "S9",
            text: "0",
            des: "ed2c1330deafa3a3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff821489993c6eed0a1eed926b392eb7a8"
        ),
        Vector(
            label: "S10",
            text: "",
            des: "16c3b7294cce37a3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff8a1fd93441334c7ba6ee77dca2c50169"
        ),
        Vector(
            label: "S11",
            text: "log:0|domain:0|ip:119.29.29.98;119.28.28.98|ttl:60",
            des: """
                1345f9455a14f5632b5540c5076929b48af271d06fb565b928011dd7442a65a7ffb6543e\
                427bb403a4490a43f73d4a699a0de09098f7f00c
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff299f508dc48eed1a6523d5b06d5cce548bbf4f63\
                e8fb5df418956bc89d5ee114ed1a74cb3821b7830dd8f22668f5ce6f377769bf0a430c2a\
                d9a1cad626b23e3c
                """
        ),
        Vector(
            label: "S12",
            text: "cloud.tencent.com.:1.1.1.1,60-0,0|10.0.0.1",
            des: """
                259d8ada730fdad2d63b1cf1184a88b341735228791ecd58ba278127075fb78348412979\
                28018fd3a2ae4ec5cd3acc9b
                """,
            aes: """
                f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f64c4bb8a5\
                ec3aa978b02d519dd951455e3fb051b7c7629171369a5318bded31fa
                """
        ),
    ]
}
