"""Data of programs: what is known of the integer parameters that decide trip counts and addresses."""

from .declared_facts import assumed_facts
from .given import MOST_ELEMENTS, DataError, DataValue, names_of, with_data
from .loads import GivenData, Lookup
from .loops import DataLoop, DataUse, data_use

__all__ = [
    "MOST_ELEMENTS",
    "DataError",
    "DataLoop",
    "DataUse",
    "DataValue",
    "GivenData",
    "Lookup",
    "assumed_facts",
    "data_use",
    "names_of",
    "with_data",
]
