"""Lists by pages."""

import pytest

from wiretool.protocols.pravega_controller.server.paging import Catalogue
from wiretool.protocols.pravega_controller.server.refused import Refused


def catalogue(count: int) -> Catalogue[int]:
    things: Catalogue[int] = Catalogue()
    for number in range(count):
        things.add(f"n{number}", number)
    return things


def test_pages_go_on_until_an_empty_one() -> None:
    things, pages, token = catalogue(5), [], ""
    while True:
        page = things.page(token, page_size=2)
        pages.append(page.names)
        if not page.names:
            assert page.token == token
            break
        token = page.token
    assert pages == [["n0", "n1"], ["n2", "n3"], ["n4"], []]


def test_an_empty_list_has_an_empty_page() -> None:
    assert catalogue(0).page("") == ([], "")


def test_what_changes_between_pages_moves_nothing_else() -> None:
    things = catalogue(4)
    first = things.page("", page_size=2)
    things.remove("n0")
    things.remove("n1")
    things.add("n0", 7)
    assert things.page(first.token).names == ["n2", "n3", "n0"]


def test_only_what_is_asked_for_is_listed() -> None:
    things = catalogue(6)
    first = things.page("", lambda number: number % 2 == 0, page_size=2)
    assert first.names == ["n0", "n2"]
    assert things.page(first.token, lambda number: number % 2 == 0, page_size=2).names == ["n4"]


@pytest.mark.parametrize("token", ["x", "-1", "1.5", "9" * 20, "٣"])
def test_a_token_that_we_did_not_give_is_refused(token: str) -> None:
    with pytest.raises(Refused, match="INVALID_ARGUMENT: continuation token"):
        catalogue(1).page(token)
