"""A bounded census of lies: nearly all that the protocols forbid is found, in every way."""

from collections import Counter

from tests.bench.census.allowed import ANY_ORDER
from tests.bench.census.captures import OWN
from tests.bench.census.judging import WAYS
from tests.bench.census.lie import KINDS
from tests.bench.census.report import MARK, described, forbidden, share
from tests.bench.census.run import Census, Plan, run
from tests.helpers.examples import needs_protocol

#: Captures of every protocol, with the number of lies for each protocol of one.
CAPTURES = {
    "pravega/read.pcap": 8,
    "pravega/txn.pcap": 8,
    "pravega/java_mtu1500.pcap.gz": 8,
    "pravega/java_conditional.pcap": 8,
    "pravega-draft/blocks.pcap": 24,
    "sbp/rs_fetch.pcap": 8,
    "sbp/pd_ranges.pcap": 8,
    "sbp-0.1/pm_s2_batch.pcap": 8,
    "sbp-0.1/s1_streams.pcap": 16,
    "offramp/plain.pcap": 24,
    "offramp/payloads_intl.pcap": 8,
}
SEED = 18
#: Nothing in the one capture of the draft comes in an order that is forbidden to be another.
UNTRIED = {*((protocol, "reorder") for protocol in ANY_ORDER), ("pravega-draft", "reorder")}


@needs_protocol("sbp-0.1")
@needs_protocol("offramp")
def test_lies_that_the_references_forbid_are_found() -> None:
    """In one test: two would each take the census, in the two processes that share the tests."""
    census = Census()
    for name, count in CAPTURES.items():
        part = run(Plan([OWN / name], SEED, count))
        census.results += part.results
        census.left_out |= part.left_out
    assert census.left_out == {}
    results = forbidden(census.results)
    tried = Counter((each.lie.reply.protocol, each.lie.kind) for each in results)
    protocols = {protocol for protocol, _ in tried}
    assert protocols == {"pravega", "pravega-controller", "pravega-draft", "sbp", "sbp-0.1", "offramp"}
    assert {(protocol, kind) for protocol in protocols for kind in KINDS if not tried[protocol, kind]} == UNTRIED
    for way in WAYS:
        assert share(results, way) >= MARK, (way, [described(each) for each in results if not each.found[way]])
