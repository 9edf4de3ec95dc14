"""The reader behind the data source `wirecap`: captures as Spark's partitions, and these as Arrow batches."""

import sys
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from wiretool.errors import UsageError
from wiretool.pipeline.spark.pushdown import Condition, condition_of
from wiretool.pipeline.spark.source_options import SourceOptions, source_options_of
from wiretool.pipeline.spark.tables import Table, table_of

#: Spark runs this module when it has filters to hand down; a reader that takes some where it has not been asked fails.
ASKS_FOR_FILTERS = "pyspark.sql.worker.data_source_pushdown_filters"


class CaptureReader(DataSourceReader):
    """Reads the columns of a schema from captures."""

    def __init__(self, chosen: SourceOptions, schema: StructType) -> None:
        self._options = chosen
        self._schema = schema
        self._conditions: list[Condition] = []

    def partitions(self) -> list[InputPartition]:
        """The captures, shared out."""
        return [InputPartition(share) for share in self._table.shares(self._options, self._conditions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        if partition.value is None:  # which Spark makes where there is none
            return
        target = to_arrow_schema(self._schema, timezone="UTC")
        for batch in self._table.read(partition.value, target.names, self._conditions):
            columns = [column.cast(field.type) for column, field in zip(batch.columns, target, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=target)

    @property
    def _table(self) -> Table:
        return table_of(self._options.table)


class FilteringReader(CaptureReader):
    """One that leaves out what Spark does not want."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Take the filters that can be done here; gives the others."""
        for filter in filters:
            condition = condition_of(filter, self._table.schema)
            if condition is None:
                yield filter
            else:
                self._conditions.append(condition)


def schema_of(options: Mapping[str, str]) -> StructType:
    """The columns of the table that the options name; UsageError where there is none, or an option makes no sense."""
    return _spark_schema(source_options_of(options).table)


def reader_of(options: Mapping[str, str], schema: StructType) -> CaptureReader:
    """A reader of these columns; UsageError where the table has not got one, or of another type."""
    chosen = source_options_of(options)
    _check(chosen.table, schema)
    return (FilteringReader if _is_asked_for_filters() else CaptureReader)(chosen, schema)


def _is_asked_for_filters() -> bool:
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return ASKS_FOR_FILTERS in sys.modules or (main is not None and main.name == ASKS_FOR_FILTERS)


def _spark_schema(table: str) -> StructType:
    return from_arrow_schema(table_of(table).schema, prefer_timestamp_ntz=True)


def _check(table: str, schema: StructType) -> None:
    known = {field.name: field.dataType for field in _spark_schema(table)}
    for field in schema:
        if field.name not in known:
            raise UsageError(f"no column {field.name} in the table {table} of wirecap: it has {', '.join(known)}")
        is_time = known[field.name] == TimestampNTZType() and field.dataType == TimestampType()
        if field.dataType != known[field.name] and not is_time:
            has, wants = known[field.name].simpleString(), field.dataType.simpleString()
            raise UsageError(f"the column {field.name} of the table {table} is {has}, not {wants}")
