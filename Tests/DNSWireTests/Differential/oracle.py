# SPDX-License-Identifier: Apache-2.0
"""Parses DNS messages with dnspython, as reference for DifferentialTests.swift.

    oracle.py generate SEED COUNT     writes packets to standard output
    oracle.py read                    reads packets, writes a line for each
    oracle.py text                    reads "TEXT <tab> TYPE <tab> HEX" lines, writes a result for each

A packet is two octets of length and the message, as on TCP.  The line of an accepted message has
"ok", notes on known differences between the parsers, and all fields in hexadecimal.  The line of a
refused message has "no", the notes, and the exception.
"""

import random
import struct
import sys

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.nsbase
import dns.rrset


NOTES = set()

# Types that dnspython parses in any class, or only in class IN.
ANY_CLASS = {2, 5, 6, 12, 15, 16, 17, 18, 21, 39}
INTERNET = {1, 28, 33, 26, 35, 64, 65}
# Types with compressed names (RFC 1035, RFC 3597 §4) that dnspython does not know.
LAYOUTS = {
    3: "n", 4: "n", 7: "n", 8: "n", 9: "n", 14: "nn",
    24: [18, "n", "r"], 30: "nr",
}

own_rdata_class = dns.rdata.get_rdata_class


class Layout(dns.rdata.GenericRdata):
    @classmethod
    def from_wire_parser(cls, rdclass, rdtype, parser, origin=None):
        data = b""
        for part in LAYOUTS[int(rdtype)]:
            if part == "n":
                data += parser.get_name().to_wire()
            elif part == "r":
                data += parser.get_remaining()
            else:
                data += parser.get_bytes(part)
        return cls(rdclass, rdtype, data)


def rdata_class(rdclass, rdtype):
    number = int(rdtype)
    if number == dns.rdatatype.OPT or number in ANY_CLASS:
        return own_rdata_class(rdclass, rdtype)
    if number in INTERNET and int(rdclass) == 1:
        return own_rdata_class(rdclass, rdtype)
    if number in LAYOUTS:
        return Layout
    return dns.rdata.GenericRdata


own_from_wire_parser = dns.rdata.from_wire_parser


def rdata_from_wire_parser(rdclass, rdtype, parser, origin=None):
    number = int(rdtype)
    if number == 16 and parser.remaining() == 0:
        NOTES.add("empty-txt")
    if number in (64, 65) and int(rdclass) == 1:
        NOTES.add("svcb")
    if int(rdclass) in (254, 255) and parser.remaining() == 0:
        # Records of updates without data (RFC 2136 §2.4).
        return dns.rdata.GenericRdata(rdclass, rdtype, b"")
    return own_from_wire_parser(rdclass, rdtype, parser, origin)


own_name_from_wire_parser = dns.name.from_wire_parser


def name_from_wire_parser(parser):
    """Notes pointers into the header, and names that reach beyond their own pointer.

    dnspython continues after the last octet from which it has read the name.
    """
    start = parser.current
    wire = parser.wire
    position = start
    while position < len(wire) and 0 < wire[position] < 64:
        position += wire[position] + 1
    if position < len(wire):
        position += 2 if wire[position] >= 192 else 1
    seeks = []
    own_seek = parser.seek
    parser.seek = lambda where: (seeks.append(where), own_seek(where))
    try:
        return own_name_from_wire_parser(parser)
    finally:
        del parser.seek
        if any(where < 12 for where in seeks):
            NOTES.add("pointer-into-header")
        if parser.current > position:
            NOTES.add("labels-over-pointer")


def note_option(otype, parser):
    if int(otype) in (8, 10, 11, 15):
        NOTES.add("option-%d" % int(otype))
    return dns.edns.GenericOption.from_wire_parser(otype, parser) if int(otype) != 8 else (
        own_option_from_wire_parser(otype, parser)
    )


own_option_from_wire_parser = dns.edns.option_from_wire_parser

dns.rdata.get_rdata_class = rdata_class
dns.rdata.from_wire_parser = rdata_from_wire_parser
dns.name.from_wire_parser = name_from_wire_parser
dns.edns.option_from_wire_parser = note_option
# Makes dnspython parse all opcodes like QUERY, and limit pointers as DNSWire does.
dns.opcode.from_flags = lambda flags: dns.opcode.QUERY
dns.message._message_factory_from_opcode = lambda opcode: dns.message.Message
dns.name.MAX_COMPRESSION_POINTER_CHAIN = 127


def describe(message):
    fields = ["%04x%04x" % (message.id, int(message.flags))]
    for rrset in message.sections[0]:
        fields.append("q:%s/%d/%d" % (rrset.name.to_wire().hex(), rrset.rdtype, rrset.rdclass))
    for mark, section in zip("anx", message.sections[1:]):
        for rrset in section:
            for rdata in rrset:
                fields.append(
                    "%s:%s/%d/%d/%d/%s"
                    % (
                        mark,
                        rrset.name.to_wire().hex(),
                        rrset.rdtype,
                        rrset.rdclass,
                        rrset.ttl,
                        rdata.to_wire().hex(),
                    )
                )
    if message.opt is not None:
        options = []
        for option in message.options:
            data = option.to_wire()
            options.append("%d=%s" % (option.otype, data.hex()))
        fields.append("o:%d/%08x/%s" % (message.payload, message.ednsflags, ",".join(options)))
    return " ".join(fields)


def read_packets(stream):
    while True:
        length = stream.read(2)
        if not length:
            return
        yield stream.read(struct.unpack("!H", length)[0])


def read():
    for packet in read_packets(sys.stdin.buffer):
        NOTES.clear()
        try:
            message = dns.message.from_wire(packet, one_rr_per_rrset=True)
            line = "ok %s " + describe(message)
        except Exception as error:
            if isinstance(error, (dns.message.UnknownTSIGKey, dns.message.BadTSIG)):
                NOTES.add("tsig")
            if isinstance(error, ValueError) and "unsupported family" in str(error):
                NOTES.add("family")
            line = "no %s " + ("%s %s" % (type(error).__name__, error)).replace("\n", " ").replace("%", "%%")
        print(line % (",".join(sorted(NOTES)) or "-"))


def text():
    for line in sys.stdin:
        text, rdtype, expected = line.rstrip("\n").split("\t")
        try:
            dns.rdata.get_rdata_class = own_rdata_class
            rrset = dns.rrset.from_text(*split_record(text))
            data = rrset[0].to_generic().data.hex()
            print("ok" if data == expected else "differs " + data)
        except Exception as error:
            print("no %s %s" % (type(error).__name__, error))


def split_record(text):
    name, ttl, rdclass, rdtype, data = text.split(" ", 4)
    return dns.name.from_text(name), int(ttl), rdclass, rdtype, data


RECORDS = [
    ("A", "192.0.2.1"), ("A", "198.51.100.255"), ("AAAA", "2001:db8::1"), ("AAAA", "::ffff:192.0.2.1"),
    ("NS", "ns.example.com."), ("CNAME", "web.example.com."), ("PTR", "www.example.org."),
    ("SOA", "ns.example.com. hostmaster.example.com. 2024010101 7200 3600 1209600 300"),
    ("MX", "10 mail.example.com."), ("MX", "0 ."), ("TXT", '"v=spf1 -all" "" "\\"quoted\\" \\\\ \\000\\255"'),
    ("HINFO", '"RFC8482" ""'), ("SRV", "1 2 443 www.example.com."), ("RP", "admin.example.com. ."),
    ("AFSDB", "1 afs.example.com."), ("RT", "5 rt.example.com."), ("PX", "1 a.example.com. b.example.com."),
    ("NAPTR", '100 10 "u" "E2U+sip" "!^.*$!sip:a@example.com!" .'), ("DNAME", "example.org."),
    ("KX", "1 kx.example.com."), ("LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m"),
    ("CAA", '0 issue "ca.example.net"'), ("TLSA", "3 1 1 " + "ab" * 32), ("SSHFP", "2 1 " + "cd" * 20),
    ("DS", "12345 13 2 " + "ef" * 32), ("DNSKEY", "257 3 13 " + "AAAA" * 22),
    ("RRSIG", "A 13 3 300 20300101000000 20240101000000 12345 example.com. " + "AAAA" * 22),
    ("NSEC", "b.example.com. A AAAA RRSIG NSEC"),
    ("NSEC3", "1 0 10 aabb 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG"),
    ("CERT", "1 2 3 " + "AAAA" * 8), ("URI", '10 1 "https://example.com/"'), ("APL", "1:192.0.2.0/24"),
    ("HTTPS", '1 . alpn="h2,h3" ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1'),
    ("HTTPS", "0 svc.example.net."), ("SVCB", "1 dns.example.com. port=853 alpn=dot key667=hello"),
    ("SVCB", "16 a.example. mandatory=alpn,port alpn=h2 no-default-alpn port=8443 ech=AAECAw=="),
    ("TYPE65280", "\\# 4 0a000001"), ("TYPE65281", "\\# 0"), ("EUI48", "00-00-5e-00-53-2a"),
    ("SPF", '"v=spf1"'), ("OPENPGPKEY", "AAAA"), ("CSYNC", "66 3 A NS AAAA"), ("X25", '"311061700956"'),
    ("ISDN", '"150862028003217"'), ("NSAP", "0x47000580005a0000000001e133ffffff00016100"),
    ("ZONEMD", "2018031900 1 1 " + "ab" * 48), ("DHCID", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="),
]
NAMES = [
    ".", "com.", "example.com.", "www.example.com.", "WWW.Example.COM.", "a.b.c.d.example.org.",
    "_dns._tcp.example.net.", "x\\.y.example.com.", "\\000\\255.example.com.", "*.example.com.",
    ("a." * 127), "b" * 63 + "." + "c" * 63 + ".example.com.", "1.2.0.192.in-addr.arpa.",
]


def make_message(source):
    message = dns.message.Message(id=source.randrange(65536))
    message.flags = dns.flags.Flag(source.randrange(65536) & ~0x7800 | source.choice([0, 0, 0, 4 << 11]))
    if source.random() < 0.95:
        name = dns.name.from_text(source.choice(NAMES))
        message.find_rrset(
            message.question, name, dns.rdataclass.IN, source.choice([1, 28, 65, 15, 255, 6]), create=True
        )
    for section in message.sections[1:]:
        for _ in range(source.choice([0, 0, 1, 1, 2, 4])):
            rdtype, data = source.choice(RECORDS)
            ttl = source.choice([0, 1, 60, 300, 86400, 2**31 - 1])
            section.append(dns.rrset.from_text(dns.name.from_text(source.choice(NAMES)), ttl, "IN", rdtype, data))
    if source.random() < 0.5:
        options = []
        for _ in range(source.choice([0, 1, 1, 2, 3])):
            options.append(
                source.choice(
                    [
                        lambda: dns.edns.ECSOption("192.0.2.0", 24, 0),
                        lambda: dns.edns.ECSOption("2001:db8::", source.randrange(129), 48),
                        lambda: dns.edns.GenericOption(10, bytes(8)),
                        lambda: dns.edns.GenericOption(10, bytes(source.randrange(16, 41))),
                        lambda: dns.edns.GenericOption(11, source.choice([b"", b"\0\x64"])),
                        lambda: dns.edns.GenericOption(12, bytes(source.randrange(40))),
                        lambda: dns.edns.EDEOption(source.randrange(31), "für alle"),
                        lambda: dns.edns.GenericOption(3, b"ns1"),
                        lambda: dns.edns.GenericOption(65001, bytes(source.randrange(9))),
                    ]
                )()
            )
        message.use_edns(
            edns=source.choice([0, 0, 0, 1]), ednsflags=source.choice([0, 0x8000, 0x7FFF]),
            payload=source.choice([0, 512, 1232, 4096, 65535]), options=options,
        )
        message.ednsflags = message.ednsflags & 0x00FFFFFF | source.choice([0, 0, 1, 255]) << 24
    return message.to_wire(max_size=65535)


def mutate(source, packet):
    packet = bytearray(packet)
    for _ in range(source.randrange(1, 4)):
        if not packet:
            break
        place = source.randrange(len(packet))
        kind = source.randrange(6)
        if kind == 0:
            packet[place] ^= 1 << source.randrange(8)
        elif kind == 1:
            packet[place] = source.choice([0, 1, 2, 63, 64, 128, 192, 255, source.randrange(256)])
        elif kind == 2:
            del packet[place]
        elif kind == 3:
            packet.insert(place, packet[place])
        elif kind == 4 and place + 1 < len(packet):
            struct.pack_into("!H", packet, place, 0xC000 | source.randrange(min(len(packet) + 4, 0x4000)))
        elif kind == 5:
            del packet[place:]
    return bytes(packet)


def generate(seed, count):
    source = random.Random(seed)
    for index in range(count):
        packet = make_message(source)
        sys.stdout.buffer.write(struct.pack("!H", len(packet)) + packet)
        for _ in range(2):
            mutant = mutate(source, packet)
            sys.stdout.buffer.write(struct.pack("!H", len(mutant)) + mutant)


if __name__ == "__main__":
    if sys.argv[1] == "generate":
        dns.rdata.get_rdata_class = own_rdata_class
        generate(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "read":
        read()
    elif sys.argv[1] == "text":
        text()
    else:
        sys.exit(__doc__)
