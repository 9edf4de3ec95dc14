"""Captures for Spark: `spark.read.format("wirecap").load("captures/*.pcap")`.

Spark finds this by the name of the package where it is installed, on the driver and on its workers: nothing has to be
registered.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping


class DefaultSource(DataSource):
    """The data source `wirecap`; its options are in wiretool.pipeline.spark.wishes, its tables in .source."""

    options: "Mapping[str, str]"

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "wirecap"

    def schema(self) -> StructType:
        """The columns of the table that the option `table` names."""
        from wiretool.pipeline.spark.source import schema_of

        return schema_of(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of captures; Spark wants the parameter to be called so."""
        from wiretool.pipeline.spark.source import reader_of

        return reader_of(self.options, schema)
