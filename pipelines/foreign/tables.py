"""What the tables of a dataset are called while they are read: by config and split."""

import polars as pl

Tables = dict[str, dict[str, pl.LazyFrame]]  # config -> split -> frame
Location = tuple[str, str]  # config, split
