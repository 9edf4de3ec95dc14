"""Faults: rules that delay, drop, change or cut what passes between a client and a server.

rules = [parse_rule('message == "DataAppended" nth=3: drop', protocols=["pravega"])]
interceptor = Interceptor(rules, seed=7)
interceptor.opened(0, protocol, "10.0.0.1:40000", "10.0.0.2:12345", now_ns)
for effect in interceptor.feed(0, "client", data, now_ns): ...
"""

from wiretool.faults.applied import AppliedRules as AppliedRules
from wiretool.faults.effects import Cut as Cut
from wiretool.faults.effects import Deliver as Deliver
from wiretool.faults.effects import Effect as Effect
from wiretool.faults.effects import Finish as Finish
from wiretool.faults.effects import Misdeed as Misdeed
from wiretool.faults.interceptor import Interceptor as Interceptor
from wiretool.faults.rules import Rule as Rule
from wiretool.faults.rules import parse_rule as parse_rule
from wiretool.faults.rules import rule_from as rule_from
from wiretool.faults.rules import rules_from as rules_from
from wiretool.faults.standing import Standing as Standing
