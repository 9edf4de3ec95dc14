"""Rules in TOML: the same as those on one line, and each mistake told with its line."""

import pytest

from wiretool import limits
from wiretool.errors import InputError, UsageError
from wiretool.faults import parse_rule, rule_from, rules_from


@pytest.mark.parametrize(
    ("protocol", "toml", "line"),
    [
        (
            "pravega",
            'message = "DataAppended"\nnth = 3\nset = { previous_event_number = 77 }',
            'message == "DataAppended" nth=3: set previous_event_number=77',
        ),
        (
            "pravega",
            """when = 'message == "DataAppended" nth=3'\ndo = "set previous_event_number=77" """,
            'message == "DataAppended" nth=3: set previous_event_number=77',
        ),
        ("pravega", 'do = "drop"', ": drop"),
        ("pravega", 'when = "length > 5"\nstall = true', "length > 5: stall"),
        ("pravega", 'side = "client"\ndelay = "200ms"', 'side == "client": delay 200ms'),
        ("pravega", "connection = 2\nstall = true", "connection == 2: stall"),
        ("pravega", 'where = "length > 5"\nstall = "1s"', "length > 5: stall 1s"),
        (
            "pravega",
            "message = 'Hello'\nwhere = 'length > 5 or offset == 0'\ndrop = true",
            'message == "Hello" and (length > 5 or offset == 0): drop',
        ),
        ("pravega", "every = 2\nduplicate = true", "every=2: duplicate"),
        ("pravega", "probability = 0.5\nduplicate = 2", "probability=0.5: duplicate 2"),
        ("pravega", "reorder = true", ": reorder"),
        ("pravega", 'reorder = "1s"', ": reorder 1s"),
        ("pravega", "cut_after = 4", ": cut after 4"),
        ("pravega", "reset = true", ": reset"),
        ("pravega", "wrong_length = true", ": wrong length"),
        ("pravega", "wrong_length = -3", ": wrong length -3"),
        ("sbp", "wrong_checksum = true", ": wrong checksum"),
        ("pravega", "stale_epoch = true", ": stale epoch"),
        ("pravega", 'keep = "nothing"', ": keep nothing"),
        ("pravega", "stale_offset = 7", ": stale offset 7"),
        (
            "pravega",
            'message = "ReadSegment"\nanswer = "NoSuchSegment"',
            'message == "ReadSegment": answer NoSuchSegment',
        ),
        (
            "pravega",
            'message = "ReadSegment"\nanswer = "WrongHost"\nfields = { correct_host = "h:1" }',
            'message == "ReadSegment": answer WrongHost correct_host="h:1"',
        ),
        (
            "sbp",
            'message = "HEARTBEAT"\nside = "server"\nset.header.fields.status.code = 1201\nset.stream_id = 1',
            'message == "HEARTBEAT" and side == "server": set header.fields.status.code=1201, stream_id=1',
        ),
        ("offramp", 'message = "COMMIT"\nset = { "offsets" = { 0 = 9 } }', 'message == "COMMIT": set offsets["0"]=9'),
        (
            "pravega",
            "message = 'UpdateTableEntries'\nset = { 'table_entries.entries[0].value.data' = '00' }",
            'message == "UpdateTableEntries": set table_entries.entries[0].value.data="00"',
        ),
    ],
)
def test_toml_and_one_line_say_the_same(protocol: str, toml: str, line: str) -> None:
    (rule,) = rules_from(f"# faults\n\n[[rule]]\n{toml}\n", "faults.toml", protocols=[protocol])
    assert rule == parse_rule(line, protocols=[protocol])
    assert rule.origin == "faults.toml, line 3 (rule 1)"


def test_rules_of_a_file_are_in_order_and_a_file_may_be_empty() -> None:
    text = '[[rule]]\ndrop = true\n\n  [[ rule ]] # the second\nside = "server"\nreset = true\n'
    assert [rule.text for rule in rules_from(text, "f", protocols=["pravega"])] == [": drop", 'side == "server": reset']
    assert rules_from("", "f", protocols=["pravega"]) == []


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        (
            "[[rule]]\ndrop = maybe",
            "faults.toml: line 2, column 8: not TOML: expected a value; expected rules as [[rule]]",
        ),
        ("[rule]\ndrop = true", "faults.toml: no rules; expected entries as [[rule]]"),
        ("rule = [1]", "faults.toml: no rules; expected entries as [[rule]]"),
        ("seed = 1", "faults.toml: seed: unknown table; expected only [[rule]]"),
        ("[[rule]]", "faults.toml, line 1 (rule 1): no action: do, or one of delay, stall, drop,"),
        (
            "[[rule]]\nmesage = 'x'\ndrop = true",
            "faults.toml, line 2 (rule 1): mesage: no key of a rule (did you mean message?)",
        ),
        (
            "\n[[rule]]\ndrop = true\nreset = true",
            "line 4 (rule 1): reset: drop and reset: more than one action; expected one action per rule",
        ),
        ("[[rule]]\nnth = 1\nevery = 2\ndrop = true", "line 3 (rule 1): every: beside nth: one of them"),
        ("[[rule]]\nnth = 1.5\ndrop = true", "line 2 (rule 1): nth: a whole number, not 1.5"),
        ("[[rule]]\nnth = 0\ndrop = true", "line 1 (rule 1): nth=0: counted from 1"),
        ("[[rule]]\nprobability = '1'\ndrop = true", "probability: a number above 0, and 1 at most, not '1'"),
        ("[[rule]]\nprobability = nan\ndrop = true", "probability: a number above 0"),
        ("[[rule]]\nwhen = 'nth=3'\nnth = 3\ndo = 'drop'", "line 3 (rule 1): nth: beside when: one of them"),
        ("[[rule]]\ndo = 'drop'\nreset = true", "line 3 (rule 1): reset: beside do: one of them"),
        ("[[rule]]\ndo = 'dorp'", "line 2 (rule 1): do: column 1: unknown action 'dorp' (did you mean drop?)"),
        ("[[rule]]\nwhen = 'nth=x'\ndo = 'drop'", "line 2 (rule 1): when: column 5: nth=x is not a number"),
        ("[[rule]]\nwhen = 'n > 1: drop'\ndo = 'drop'", "line 2 (rule 1): when: column 6: a colon; the action is"),
        ("[[rule]]\nwhen = 3\ndo = 'drop'", "line 2 (rule 1): when: text, not 3"),
        ("[[rule]]\nmessage = 3\ndrop = true", "line 2 (rule 1): message: text, not 3"),
        ("[[rule]]\nmessage = 'a\"b'\ndrop = true", "message: 'a\"b' is not a name"),
        ("[[rule]]\nside = 'sever'\ndrop = true", "side: client or server, not 'sever' (did you mean server?)"),
        ("[[rule]]\nconnection = 'x'\ndrop = true", "connection: a whole number, not 'x'"),
        ("[[rule]]\ndrop = false", "line 2 (rule 1): drop: true, not False"),
        ("[[rule]]\ndelay = 200", "line 2 (rule 1): delay: text, not 200"),
        ("[[rule]]\ndelay = '200'", "delay: duration '200': not a duration; expected a number with"),
        ("[[rule]]\nstall = 3", "stall: true or text, not 3"),
        ("[[rule]]\nduplicate = 'x'", "duplicate: true or a whole number, not 'x'"),
        ("[[rule]]\nset = 3", "set: a table of fields and values, not 3"),
        ("[[rule]]\nset = {}", "set: a table of fields and values, not {}"),
        ("[[rule]]\nset = { 'a b' = 1 }", "set: 'a b' is not a field"),
        ("[[rule]]\nset.x = 2024-05-01", "line 2 (rule 1): set: x = 2024-05-01 is not a JSON value"),
        ("[[rule]]\nset.x = [inf]", "set: x = inf is not a JSON value"),
        ("[[rule]]\nset.nonsense = 1", "line 1 (rule 1): "),
        ("[[rule]]\nfields.x = 1\ndrop = true", "line 2 (rule 1): fields: they belong to answer"),
        (
            "[[rule]]\ndrop = true\n[[rule]]\nmessage = 'DataApended'\ndrop = true",
            "line 3 (rule 2): column 12: no message is called 'DataApended' (did you mean DataAppended?)",
        ),
        ("[[rule]]\nwhere = 'lenght > 5'\ndrop = true", "column 1: no record has lenght (did you mean length?)"),
        ("rule = [{drop = true}, {dorp = true}]", "faults.toml (rule 2): dorp: no key of a rule (did you mean drop?)"),
    ],
)
def test_each_mistake_in_a_file_is_told_with_its_line(toml: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        rules_from(toml, "faults.toml", protocols=["pravega"])
    assert why in str(caught.value)


def test_too_many_rules() -> None:
    text = "[[rule]]\ndrop=true\n" * (limits.FAULT_RULES_MAX + 1)
    with pytest.raises(InputError, match="10001 rules, 10000 at most"):
        rules_from(text, "f", protocols=["pravega"])


def test_a_rule_as_an_object() -> None:
    rule = rule_from({"message": "DataAppended", "nth": 3, "drop": True}, protocols=["pravega"])
    assert rule == parse_rule('message == "DataAppended" nth=3: drop', protocols=["pravega"])
    with pytest.raises(UsageError, match=r"^rule: dorp: no key of a rule"):
        rule_from({"dorp": True}, protocols=["pravega"])
