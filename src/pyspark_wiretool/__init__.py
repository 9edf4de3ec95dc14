"""Captures for Spark: `spark.read.format("wirecap").load("captures/*.pcap")`.

Spark finds this by the name of the package where it is installed, on the driver and on its workers: nothing has to be
registered.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What only a stream takes.
STREAM_OPTIONS = ("maxbytespertrigger",)


class DefaultSource(DataSource):
    """The data source `wirecap`; its options are in wiretool.pipeline.spark.source_options, its tables in .source."""

    options: "Mapping[str, str]"

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "wirecap"

    def schema(self) -> StructType:
        """The columns of the table that the option `table` names."""
        from wiretool.pipeline.spark.source import schema_of

        # Spark asks before it says whether it will be a stream.
        return schema_of({name: value for name, value in self.options.items() if name.lower() not in STREAM_OPTIONS})

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of captures; Spark wants the parameter to be called so."""
        from wiretool.pipeline.spark.source import reader_of

        return reader_of(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of captures as they come, for `spark.readStream`."""
        from wiretool.pipeline.spark.stream_source import stream_reader_of

        return stream_reader_of(self.options, schema)
