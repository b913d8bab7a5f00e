// SPDX-License-Identifier: Apache-2.0

/// Zone, signed for 2024 to 2037 with a discarded key.
///
/// Validators must ignore the date. The record of `forged` does not match its signature.
enum SignedZone {
    static let name = "example.org"

    static let anchor =
        "example.org. DS 33304 13 2 "
        + "7b496559597290ebae55eb723a7bd1dcd71a78c54d1740fb4f9524752035f100"

    static let text =
        """
        $ORIGIN example.org.
        @ 300 SOA ns.example.org. hostmaster.example.org. 1 3600 600 86400 60
        @ 300 RRSIG SOA 13 2 300 20371231000000 20240101000000 33304 example.org. (
            9n7zZUIcX/r7MnW1cxn5nfIHj+pzjQ8kkoQB2U8kpaDMM88BZD2vzFfHQ/YQilYKBRxoqzjxOQzDiOBPWFCuTA== )
        @ 300 NS ns.example.org.
        @ 300 RRSIG NS 13 2 300 20371231000000 20240101000000 33304 example.org. (
            xbb08BiqTbugoafR+C/qMlYaR4DhRT5htI532RkTDqmgp0j+a10CND+Udq30Ivjv35wu47z36rBvuHKiSAmniQ== )
        @ 300 DNSKEY 257 3 13 (
            zjj6xJ9jbdTMOUlrcQjYlfaUOmyNif/Fh+QW5TTRL+zsZjJjwXSPQ8AbG+GL2ckN1GAYlyUb4o6b6J2ptjIB7A== )
        @ 300 RRSIG DNSKEY 13 2 300 20371231000000 20240101000000 33304 example.org. (
            oYMdtVeFtwJSF/u/1fHkTW1jznMLjZTndGocO/EK5doxNeu9vWnXHjpMJDKv/RANv1KM6EK27Ali7ehScDUXbg== )
        @ 60 NSEC alias.example.org. NS SOA RRSIG NSEC DNSKEY
        @ 60 RRSIG NSEC 13 2 60 20371231000000 20240101000000 33304 example.org. (
            JVz0b1CrHlxB6sJ8ukHTpYT/Nor1kyHoBN1sr5rGJxL9tjy7T0JDocP42oEHJM1MTBfPeI3VFLX7Sm/RYzLAVQ== )
        alias 300 CNAME www.example.org.
        alias 300 RRSIG CNAME 13 3 300 20371231000000 20240101000000 33304 example.org. (
            ZnE4awcFXMAPPNKiY/IV0BD4dlzHICByskDMJ8RaKBrhx68SgLXE1fkBipPQbgmy3CGeYJ+HK+8efWgu5evZLg== )
        alias 60 NSEC forged.example.org. CNAME RRSIG NSEC
        alias 60 RRSIG NSEC 13 3 60 20371231000000 20240101000000 33304 example.org. (
            5AtQLjo1YQwCvC6yDrywqM/wFrczwWLcRc1jT7eqoXexnHzEo3r/oQUnrtbC3jrnPzbiTrE3cZKucJFzbCUL4g== )
        forged 300 A 198.51.100.5
        forged 300 RRSIG A 13 3 300 20371231000000 20240101000000 33304 example.org. (
            3d9LB+Fll8LqR0ewzRzsWFsMHhk4E/Ncjh0YDLRifaehZtZQrSfHIP2PE3m5ShATSR3789WT5rW6U9iArFQHQQ== )
        forged 60 NSEC ns.example.org. A RRSIG NSEC
        forged 60 RRSIG NSEC 13 3 60 20371231000000 20240101000000 33304 example.org. (
            wzLJLghB84xh75HLQjx2KiybiuZ2fuvrGGUFjetd0gXF/xPtr3YjQf4c8UE6pOnDmIkc2o1sURIh30DcTQEisA== )
        ns 300 A 198.51.100.53
        ns 300 RRSIG A 13 3 300 20371231000000 20240101000000 33304 example.org. (
            XTy/AkzIOmRBNw3th2q4c6KM/SIbEkP1c2a4SGcg4kUynFpkKPy1KdSdRK3BU0T+tkuUJEtZCe90RxwyajRpGQ== )
        ns 60 NSEC www.example.org. A RRSIG NSEC
        ns 60 RRSIG NSEC 13 3 60 20371231000000 20240101000000 33304 example.org. (
            Gfh6vRsGl2JEUUROM16x73rnvwVbFR+UczOcJEJFeQ8r1QVJ26Mu6R2BbkrzQthOsW6JSfuTisdI2LvXVCti+w== )
        www 300 A 198.51.100.3
        www 300 RRSIG A 13 3 300 20371231000000 20240101000000 33304 example.org. (
            612uO2v6lawE2e0coxiTocOg0Y87jy46tjpJ8AZA+B8Cgey9KFTp9jKus1HdHqWYJK4oiWUxK9e2Q5ilmqeeeQ== )
        www 60 NSEC example.org. A RRSIG NSEC
        www 60 RRSIG NSEC 13 3 60 20371231000000 20240101000000 33304 example.org. (
            ndn+23da9FuPGanJd/xpgWVcT1/kF/v1VOq5Fl2XFTPjbR5Ey1cEMLA0z5f3uLRidmGlZkvV1tkteUo2bHQZxw== )
        """ + "\n"
}
