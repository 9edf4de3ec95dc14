"""Errors of DuckDB in our words, as it reports them itself."""

import re

import duckdb
import pytest

from wiretool.pipeline.sql_problem import sql_problem


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("SELECT messag FROM t", "no column is called messag; similar columns: message; DESCRIBE TABLE names all"),
        ("SELECT f.n FROM t AS g", r"FROM has no table f \(did you mean g\?\); expected one of those after FROM"),
        ("SELECT cont(n) FROM t", r"no function is called cont \(did you mean count\?\); expected a function"),
        ("SELECT sum(message) FROM t", r"sum does not take \(VARCHAR\); expected arguments of other types"),
        ("SELECT n FROM t JOIN t AS u ON true", "several tables have a column n; expected .*'u.n'"),
        ("SELECT n FROM t GROUP BY message", "n is neither grouped nor aggregated; expected it after GROUP BY"),
        ("SELECT 'a'::INT", "'a' is not a value of type INT32; TRY_CAST gives NULL"),
        ("SELECT n FROM", 'not SQL: (unexpected "FROM"|it ends early); expected one statement'),
        ("SELECT 'a", "not SQL: string literal without its end; expected a closing quote"),
        ("SELECT $1", "a question cannot have parameters; expected values in their place"),
        ("SELECT (SELECT n FROM t)", "a subquery in place of a value has several rows; expected one"),
        ("SELECT 9223372036854775807 + 1", "addition of numbers that are too large; expected numbers of their type"),
        ("SELECT * FROM 'x.parquet'", '"x.parquet": files other than the tables cannot be read; expected the name'),
        ("SELECT n FROM t LIMIT -1", "the question has no answer: LIMIT/OFFSET cannot be negative; expected"),
        ("SELECT error('Boom!')", "the question has no answer: boom; expected"),
    ],
)
def test_an_error_is_one_line_in_our_words(question: str, said: str) -> None:
    with duckdb.connect(config={"enable_external_access": "false"}) as database:
        database.execute("CREATE TABLE t AS SELECT unnest([1, 2]) AS n, 'a' AS message")
        with pytest.raises(duckdb.Error) as caught:
            database.sql(question).fetchall()
    problem = sql_problem(caught.value)
    assert re.match(said, problem), problem
    assert "\n" not in problem
    assert "Error:" not in problem
