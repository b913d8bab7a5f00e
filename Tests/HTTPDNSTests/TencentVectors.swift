// SPDX-License-Identifier: Apache-2.0
import Testing

struct SealedText: Sendable, CustomTestStringConvertible {
    let label: String
    let plain: String
    let des: String
    let aes: String
    var testDescription: String { label }
}

/// Vectors for document 379/95499, with keys of the vendor's unit tests.
///
/// Computed with python-cryptography, checked with openssl(1).
enum TencentVectors {
    static let desKey = "testkey1"
    static let aesKey = "1234567890123456"

    static let requestVector = [UInt8](0x00...0x0F)

    static let replyVector = [UInt8](0xF0...0xFF)

    static let requests: [SealedText] = [
        SealedText(
            label: "R1",
            plain: "test.example.com",
            des: "5d364817c5ad15ecaaeac9aea37f7ef816c3b7294cce37a3",
            aes: "000102030405060708090a0b0c0d0e0f40f25cacd8c35931c1764486b177679e"
                + "545d82069314c8c312b384f46f368059"
        ),
        SealedText(
            label: "R2",
            plain: "www.qq.com",
            des: "a2135dd5db6f47d1474b0f976a2ac70f",
            aes: "000102030405060708090a0b0c0d0e0f0750a1befeca8827e2aafde29cfbd1ab"
        ),
        SealedText(
            label: "R3",
            plain: "cloud.tencent.com,www.qq.com,www.dnspod.cn",
            des: "259d8ada730fdad2d63b1cf1184a88b3ad699eba8159556702ff5c04999990d1"
                + "3a9e22b4e546d5c4dc0b6bc74632e8e3",
            aes: "000102030405060708090a0b0c0d0e0fa54278f99257ad6d4f331259cb322876"
                + "c58491147f25d39fcc53fb21e467c37ebb923aac6f7808394cd4c846d1a488cf"
        ),
        SealedText(
            label: "R4",
            plain: "www.qq.com;1700000600",
            des: "a2135dd5db6f47d19d0075a0b33ebc13658d6f678bb7930a",
            aes: "000102030405060708090a0b0c0d0e0f8bf9392a1e61fd9b30c470366d2aa90d"
                + "3f12138a4a400d8bc79721f7202db0d1"
        ),
        SealedText(
            label: "R5",
            plain: "cloud.tencent.com,www.qq.com,www.dnspod.cn;1700000600",
            des: "259d8ada730fdad2d63b1cf1184a88b3ad699eba8159556702ff5c04999990d1"
                + "3a9e22b4e546d5c4301c3ee507a3d5b0658d6f678bb7930a",
            aes: "000102030405060708090a0b0c0d0e0fa54278f99257ad6d4f331259cb322876"
                + "c58491147f25d39fcc53fb21e467c37eb8366254151c65a3516b6ee18ac16b21"
                + "4ff58c1133e2b3918a8e3baeb2e8192c"
        ),
        SealedText(
            label: "R6",
            plain: "1.2.3.4",
            des: "822d19f81731d05b",
            aes: "000102030405060708090a0b0c0d0e0ff297723859a95d3a8a81b208b9959fb6"
        ),
        SealedText(
            label: "R7",
            plain: "2402:4e00::1",
            des: "387ec1597271bf05bf9966616d569062",
            aes: "000102030405060708090a0b0c0d0e0f49a65c1037364b85fe135e00b44688ad"
        ),
        SealedText(
            label: "R8",
            plain: "abcdefg",
            des: "c9d112f1e95d1736",
            aes: "000102030405060708090a0b0c0d0e0f3b678e9580e6247b7f846aa0819793ba"
        ),
        SealedText(
            label: "R9",
            plain: "abcdefgh",
            des: "ed0a21c0dce5758116c3b7294cce37a3",
            aes: "000102030405060708090a0b0c0d0e0ff47675d9757457ecbc51cb9e18828f8f"
        ),
    ]

    /// Forms of documents 379/95497 and 379/116336.
    static let replies: [SealedText] = [
        SealedText(
            label: "S1",
            plain: "2.3.3.4;2.3.3.5;2.3.3.6",
            des: "108925292e6c5da5367d7f8bcdc1e2e0b400b604d26b3948",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041"
                + "1a11569789828fc215a4faf688542a5b"
        ),
        SealedText(
            label: "S2",
            plain: "2.3.3.4;2.3.3.5;2.3.3.6,120",
            des: "108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cb22cf64ad8eef9fc3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041"
                + "110b6695744939c642ebca4a7c657ec3"
        ),
        SealedText(
            label: "S3",
            plain: "2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            des: "108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cbe7810e56c27373db"
                + "ad52d66cd57fb101",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041"
                + "f8d9d6503b786adcd214e5d58114a283aacfe8cc288816a186c704e29f9992cd"
        ),
        SealedText(
            label: "S4",
            plain: "2.3.3.4;2.3.3.5;2.3.3.6,120-2402:4e00:0123:4567:0::2345;2403"
                + ":4e00:0123:4567:0::2346,120|1.2.3.4",
            des: "108925292e6c5da5367d7f8bcdc1e2e0d5aa67116059d9cb021356f39a29101e"
                + "aae8121e4a90f3e9993f3b6e8467981cc82fe2915dd13b7182096c82ef61e268"
                + "5249165492ad8ed8497e289a4ff50ff5e4ac3e41b9e0c77d822d19f81731d05b",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff966c7f22ec736cb405eee65980b5041"
                + "4ec518fe51de7f8ecf7565df9a2ab91ed4c452c2faf39343679882987e62fba6"
                + "1b755b744aedc4df3d1c7b45d6b57c0fd367d7d278810a7e0d45574c7407e73b"
                + "f537b3c02443b25438b36849aaefaa4e"
        ),
        SealedText(
            label: "S5",
            plain: "cloud.tencent.com.:2.3.3.4;2.3.3.5;2.3.3.6,120|1.2.3.4",
            des: "259d8ada730fdad2d63b1cf1184a88b3f0f2cb3c7ebadfd09bba2898e3046c9e"
                + "3ef5d9353e342baea6424f3bd13f402c7eba67e1ad5fb62b",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6"
                + "515fec5ce9a1d321f7161e3dc435400f8fb93f2b578c8f82089f4cf7223db91f"
                + "19218226f8701cb917b57c552bb829a8"
        ),
        SealedText(
            label: "S6",
            plain: "cloud.tencent.com.:2.3.3.4;2.3.3.5;2.3.3.6,120\nwww.qq.com.:2"
                + ".3.3.4;2.3.3.5;2.3.3.6,180\nwww.dnspod.cn.:2.3.3.4;2.3.3.5;2."
                + "3.3.6,60|1.2.3.4",
            des: "259d8ada730fdad2d63b1cf1184a88b3f0f2cb3c7ebadfd09bba2898e3046c9e"
                + "3ef5d9353e342baee4ae1ba8f5babee4990565f15c28160df0f2cb3c7ebadfd0"
                + "9bba2898e3046c9e3ef5d9353e342bae4713c69dcf411d0885ba83f6bb284feb"
                + "1338a4a3c4c8d96e8144af9771b3422b01fd8a3e45868bea58f20e81b9731a84"
                + "b043ded7acdf5b0a16c3b7294cce37a3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6"
                + "515fec5ce9a1d321f7161e3dc435400f51e6de0b5d2f823dab8dfea8a4d02b75"
                + "9b25fc3c2cb7e57f034eb1d9ba90ac0cfaccf9a01dd67409237cc8244e212ed2"
                + "aa8a4c57548ca4dc38f40804a4caf2e0b2da2f9dc81f8d9c12c3afd37c58cdfb"
                + "2fb360350592820cb8a1eccd1e8d6eed846fe2220aba39eef2009edad04596bc"
        ),
        SealedText(
            label: "S7",
            plain: "cloud.tencent.com.:0-0|1.2.3.4",
            des: "259d8ada730fdad2d63b1cf1184a88b3ddc6d667ca074f977eba67e1ad5fb62b",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6"
                + "9524386803f284ff05232498664fdfc7"
        ),
        SealedText(
            label: "S8",
            plain: "cloud.tencent.com.:2.3.4.5;3.3.3.3-0|1.2.3.4",
            des: "259d8ada730fdad2d63b1cf1184a88b390c21900b0402fb885252cb38e941c63"
                + "7e59661087a0ccbdae9c67af1736b4ea",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6"
                + "c091ac6fa618bec03c21e4892d73c8e0f3263a651f2414fd9e9032a6c5155797"
        ),
        SealedText(
            label: "S9",
            plain: "0",
            des: "ed2c1330deafa3a3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff821489993c6eed0a1eed926b392eb7a8"
        ),
        SealedText(
            label: "S10",
            plain: "",
            des: "16c3b7294cce37a3",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff8a1fd93441334c7ba6ee77dca2c50169"
        ),
        SealedText(
            label: "S11",
            plain: "log:0|domain:0|ip:119.29.29.98;119.28.28.98|ttl:60",
            des: "1345f9455a14f5632b5540c5076929b48af271d06fb565b928011dd7442a65a7"
                + "ffb6543e427bb403a4490a43f73d4a699a0de09098f7f00c",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff299f508dc48eed1a6523d5b06d5cce54"
                + "8bbf4f63e8fb5df418956bc89d5ee114ed1a74cb3821b7830dd8f22668f5ce6f"
                + "377769bf0a430c2ad9a1cad626b23e3c"
        ),
        SealedText(
            label: "S12",
            plain: "cloud.tencent.com.:1.1.1.1,60-0,0|10.0.0.1",
            des: "259d8ada730fdad2d63b1cf1184a88b341735228791ecd58ba278127075fb783"
                + "4841297928018fd3a2ae4ec5cd3acc9b",
            aes: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff7533fc1b44666c042fabe8de12fc0f6"
                + "4c4bb8a5ec3aa978b02d519dd951455e3fb051b7c7629171369a5318bded31fa"
        ),
    ]

    static func reply(_ label: String) throws -> SealedText {
        try #require(replies.first { $0.label == label })
    }
}
