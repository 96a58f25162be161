"""Records: read, shown, written, as columns; fleets of them."""

from __future__ import annotations

import json
import pathlib
import pickle
import sys

import cpudyno
import pytest
from conftest import MACHINE, ROOT
from cpudyno import Quantity, Record


def test_a_record_goes_through_json_a_page_and_a_pickle(record: Record, tmp_path: pathlib.Path) -> None:
    assert Record.from_json(record.json()) == record
    assert Record.from_json(record.json().encode()) == record
    assert pickle.loads(pickle.dumps(record)) == record
    for name in ("r.json", "r.html"):
        record.save(tmp_path / name)
        assert Record.open(tmp_path / name) == record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_what_is_no_record_is_refused_with_a_hint(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="no `schema`\nhint: `cpudyno sheet --json FILE`"):
        Record.from_json("{}")
    with pytest.raises(FileNotFoundError):
        Record.open(tmp_path / "none.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(cpudyno.Refused, match="cannot read"):
        Record.open(tmp_path / "x.json")
    with pytest.raises(TypeError):
        Record.from_json(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Record("text")  # type: ignore[arg-type]
    with pytest.raises(UnicodeDecodeError):
        Record.from_json(b"\xff")


def test_a_record_cannot_be_written_where_there_is_no_folder(record: Record) -> None:
    for name in ("/nowhere/r.json", "/nowhere/r.html"):
        with pytest.raises((cpudyno.Refused, OSError)):
            record.save(name)


def test_fields_are_attributes_with_units(record: Record) -> None:
    assert record.run.simulated == "2s-56c"
    assert record.run.plan.cpus == "0-111"
    assert record.tool.name == "cpudyno"
    facts = record.facts
    assert facts["cpu.brand"].startswith("SIMULATED")
    numbers = [value for value in facts.values() if isinstance(value, Quantity)]
    assert numbers and all(number.unit for number in numbers)
    assert any(isinstance(value, cpudyno.Unavailable) for value in facts.values())
    with pytest.raises(AttributeError, match="no 'nothing' here; there are .*plan"):
        _ = record.run.nothing
    with pytest.raises(AttributeError):
        _ = record.nothing


def test_frames_have_columns_of_one_length_and_none_for_what_is_absent(record: Record) -> None:
    for level in ("results", "samples"):
        frame = record.frame(level)
        assert len({len(column) for column in frame.values()}) == 1
    results = record.frame()
    assert len(results["median"]) == len(record.rows)
    for median, why in zip(results["median"], results["why"]):
        assert (median is None) == (why is not None)
    samples = record.frame("samples")
    assert len(samples["value"]) == sum(len(it.samples) for it in record.series if it.unavailable is None)
    with pytest.raises(ValueError, match="'results' or 'samples'"):
        record.frame("nothing")


def test_series_have_samples_or_a_reason() -> None:
    record = cpudyno.sheet(budget=3, machine=MACHINE).record
    absent = [it for it in record.series if it.unavailable is not None]
    measured = [it for it in record.series if it.unavailable is None]
    assert absent and measured
    one = measured[0]
    assert min(one.samples) <= one.median <= max(one.samples) and one.median.unit == one.unit
    assert one.samples == [it for block in one.blocks for it in block]
    with pytest.raises(cpudyno.Unavailable) as reason:
        _ = absent[0].samples
    assert reason.value == absent[0].unavailable


def test_rows_without_a_number_raise_their_reason() -> None:
    # Too short for so many cores.
    hasty = cpudyno.memory_bandwidth(machine=MACHINE, budget=1)
    absent = [row for row in hasty.rows if row.unavailable is not None]
    with pytest.raises(cpudyno.Unavailable, match="more time"):
        _ = hasty.median
    with pytest.raises(cpudyno.Unavailable) as raised:
        _ = absent[0].value
    assert raised.value.what and raised.value.why
    assert pickle.loads(pickle.dumps(raised.value)) == raised.value


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_are_made_of_frames(record: Record, library: str) -> None:
    sys.path += [str(ROOT / "target/tools"), str(ROOT / "target/tools/pandas")]
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    for level in ("results", "samples"):
        frame = frames.DataFrame(record.frame(level))
        assert frame.shape[0] == len(record.frame(level)["unit"])
    most = frames.DataFrame(record.frame())["median"].max()
    assert most == max(it for it in record.frame()["median"] if it is not None)


def test_pages_are_what_the_command_prints(record: Record) -> None:
    text = str(record)
    assert "SIMULATED" in text and record.text(width=60) != text
    assert max(map(len, record.text(width=60).splitlines())) <= 60
    assert len(record.text(verbose=True)) > len(text)
    assert "|" in record.markdown() and record.csv().count("\n") > 100
    with pytest.raises(ValueError, match="20 to 1000 columns"):
        record.text(width=3)


def test_notebooks_show_the_page_without_the_record(record: Record) -> None:
    small, whole = record._repr_html_(), record.html()
    assert small.startswith("<iframe") and "<html" not in small
    assert 'download="' in whole and "download=&quot;" not in small


def test_comparisons_name_what_differs(record: Record) -> None:
    other = cpudyno.memory_bandwidth(machine="sim:2s-28c").record
    found = cpudyno.compare(record, other, names=["new", "old"])
    assert "new" in str(found) and "old" in str(found)
    with pytest.raises(TypeError, match="Record.open"):
        cpudyno.compare(record, "r.json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 records have 1 names"):
        cpudyno.compare(record, other, names=["a"])


def test_fleets_are_folders_of_records(record: Record, tmp_path: pathlib.Path) -> None:
    for host in ("n1", "n2"):
        record.save(tmp_path / f"{host}.json")
    (tmp_path / "x.json").write_text("{}")
    fleet = cpudyno.fleet.read(tmp_path)
    assert sorted(fleet.machines) == ["n1", "n2"] and len(fleet) == 2
    assert list(fleet.left_out) == [str(tmp_path / "x.json")]
    assert fleet.survey and "2 machines" in str(fleet)
    with pytest.raises(FileNotFoundError):
        cpudyno.fleet.read(tmp_path / "none")


def test_quantities_convert_to_multiples_of_their_unit() -> None:
    rate = Quantity(100728.8e6, "B/s")
    assert rate.to("MB/s") == 100728.8 and rate.to("GiB/s") == 100728.8e6 / 2**30
    assert Quantity(24e-9, "s").to("ns") == 24.0
    assert repr(rate) == "100.7 GB/s" and json.dumps(rate) == "100728800000.0"
    assert pickle.loads(pickle.dumps(rate)).unit == "B/s"
    for unit in ("s", "Mb/s", "xB/s", ""):
        with pytest.raises(ValueError):
            rate.to(unit)


def test_machines_describe_themselves() -> None:
    assert "SIMULATED" in str(cpudyno.info(machine=MACHINE))
    assert "available" in str(cpudyno.doctor(machine=MACHINE))
    assert cpudyno.info().run.get("simulated") is None
