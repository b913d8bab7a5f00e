// SPDX-License-Identifier: Apache-2.0

extension Zone {
    /// Built-in zone: examples from vendor documents, and names for client tests.
    ///
    /// The first three lines are from Tencent Cloud document 379/54976.
    static let demoText = """
        cloud.tencent.com   120 A    2.3.3.4
        cloud.tencent.com   120 A    2.3.3.5
        cloud.tencent.com   120 A    2.3.3.6
        cloud.tencent.com   120 AAAA 2402:4e00:0123:4567:0::2345
        cloud.tencent.com   120 AAAA 2403:4e00:0123:4567:0::2346
        www.qq.com          180 A    2.3.3.4
        www.qq.com          180 A    2.3.3.5
        www.qq.com          180 A    2.3.3.6
        www.dnspod.cn        60 A    2.3.3.4
        www.dnspod.cn        60 A    2.3.3.5
        www.dnspod.cn        60 A    2.3.3.6
        www.aliyun.com       60 A    192.0.2.20
        www.aliyun.com       60 A    192.0.2.21
        www.taobao.com       45 CNAME www.taobao.com.danuoyi.tbcache.com
        www.taobao.com.danuoyi.tbcache.com 45 A 192.0.2.22
        www.baidu.com       300 A    192.0.2.30
        www.baidu.com       300 AAAA 2001:db8::30
        www.a.com            52 A    192.0.2.40
        www.a.com            52 AAAA 2001:db8::40
        www.b.com            60 A    192.0.2.41
        www.example.com     300 A    192.0.2.1
        www.example.com     300 AAAA 2001:db8::1
        four.example.com     60 A    192.0.2.4
        six.example.com      60 AAAA 2001:db8::6
        none.example.com  empty
        alias.example.com   120 CNAME www.example.com
        near.example.com     60 A    192.0.2.10
        near.example.com     60 A    198.51.100.10  subnet=203.0.113.0/24
        """
}
