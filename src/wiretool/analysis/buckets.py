"""Buckets of numbers: those that have an exponent and some leading bits in common, as in HdrHistogram.

The formula in three forms: for integers, for arrays of them and for DuckDB. The numbering is the one of HdrHistogram's
counters, without gaps.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:  # NumPy takes long to load, and rows are counted without it
    from wiretool.codec.columns import Integers

Numbers = TypeVar("Numbers", int, "Integers")


class Buckets(NamedTuple):
    """Buckets of numbers from 0 to 2**63 - 1, each at most one part in `2**bits` wide.

    Arrays of less than 10 bits, and SQL, may find an exponent that is one too great just below a power of two, as they
    round. There the bucket is the same.
    """

    #: Those that follow the leading one.
    bits: int

    def bucket_of(self, number: int) -> int:
        """Return the bucket of a number: itself when small, else from its exponent and leading bits."""
        shift = (number >> self.bits | 1).bit_length() - 1
        return (shift << self.bits) + (number >> shift)

    def buckets_of(self, numbers: "Integers") -> "Integers":
        """Return the bucket of each number; as `bucket_of`."""
        # A float64 has its exponent, plus 1023, in front of 52 bits: as `frexp`, which takes longer.
        shift = (numbers >> self.bits | 1).astype("f8").view("i8")
        shift >>= 52
        shift -= 1023
        buckets: Integers = numbers >> shift
        shift <<= self.bits
        buckets += shift
        return buckets

    def first_of(self, bucket: Numbers) -> Numbers:
        """Return the least number in a bucket, or in each bucket."""
        shift = self._shift_of(bucket)
        return (bucket - (shift << self.bits)) << shift

    def last_of(self, bucket: Numbers) -> Numbers:
        """Return the greatest number in a bucket, or in each bucket."""
        return self.first_of(bucket + 1) - 1

    def value_of(self, bucket: int) -> int:
        """Return a number in the middle of a bucket."""
        return self.first_of(bucket) + (1 << self._shift_of(bucket) >> 1)

    def _shift_of(self, bucket: Numbers) -> Numbers:
        doublings = bucket >> self.bits
        return doublings - (doublings > 0)

    def macros(self, schema: str) -> tuple[str, ...]:
        """Return the statements that create `bucket_of` and `value_of` as functions of a schema in DuckDB."""
        return (
            f"CREATE MACRO {schema}.shift_of(v) AS floor(log2((v >> {self.bits}) | 1))::INTEGER",
            f"""CREATE MACRO {schema}.bucket_of(v) AS
                ({schema}.shift_of(v)::BIGINT << {self.bits}) + (v >> {schema}.shift_of(v))""",
            f"""CREATE MACRO {schema}.shift_in(b) AS
                ((b >> {self.bits}) - (b >> {self.bits} > 0)::INTEGER)::INTEGER""",
            f"""CREATE MACRO {schema}.value_of(b) AS
                ((b - ({schema}.shift_in(b)::BIGINT << {self.bits})) << {schema}.shift_in(b))
                + ((1::BIGINT << {schema}.shift_in(b)) >> 1)""",
        )
