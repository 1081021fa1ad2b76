"""Fuzzing of the readers: seeds, mutators that know text, TOML and JSON, and the check that each input is read or refused."""
