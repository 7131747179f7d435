import csv
import io

import pytest

from src.core.errors import UserError
from src.core.runs.csv_table import CsvTable
from src.core.runs.metrics import METRICS
from src.core.runs.runlog import LoggedMetrics, RunLog
from tests.core.fixed import RecordingTracker
from tests.golden.metrics import is_documented


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_new_metric_widens_the_file(tmp_path):
    tracker = RecordingTracker()
    log = RunLog(tmp_path, tracker)
    log.write(1, {"train/td_error": 0.5})
    log.write(2, {"eval/win_rate": 0.25})
    assert read(log.path) == [
        {"step": "1", "train/td_error": "0.5", "eval/win_rate": ""},
        {"step": "2", "train/td_error": "", "eval/win_rate": "0.25"},
    ]
    assert tracker.of("log") == [{"step": 1, "train/td_error": 0.5}, {"step": 2, "eval/win_rate": 0.25}]


def test_values_of_the_whole_run_go_into_the_summary_and_no_curve(tmp_path):
    tracker = RecordingTracker()
    log = RunLog(tmp_path, tracker)
    log.write(1, {"eval/win_rate": 0.25})
    log.write(1, {"final/win_rate": 0.5}, once=True)
    assert tracker.of("log") == [{"step": 1, "eval/win_rate": 0.25}]
    assert tracker.of("summarize") == [{"step": 1, "final/win_rate": 0.5}]
    assert read(log.path)[-1] == {"step": "1", "eval/win_rate": "", "final/win_rate": "0.5"}


def test_going_back_forgets_rows_and_the_columns_they_brought(tmp_path):
    log = RunLog(tmp_path, None)
    log.write(1, {"train/td_error": 0.5})
    before = log.path.read_bytes()
    log.write(2, {"eval/win_rate": 0.25})
    log.truncate(1)
    assert log.path.read_bytes() == before


def test_a_line_cut_short_by_a_kill_is_overwritten(tmp_path):
    log = RunLog(tmp_path, None)
    log.write(1, {"train/td_error": 0.5})
    whole = log.path.read_bytes()
    log.write(2, {"train/td_error": 0.75})
    log.path.write_bytes(log.path.read_bytes()[:-3])
    again = RunLog(tmp_path, None)
    again.truncate(1)
    assert log.path.read_bytes() == whole
    again.write(2, {"train/td_error": 0.75})
    assert [row["train/td_error"] for row in read(log.path)] == ["0.5", "0.75"]


def test_a_damaged_row_is_reported(tmp_path):
    log = RunLog(tmp_path, None)
    log.write(1, {"train/td_error": 0.5, "eval/win_rate": 0.25})
    log.write(2, {"train/td_error": 0.75, "eval/win_rate": 0.75})
    whole = log.path.read_bytes()
    assert LoggedMetrics(tmp_path).column("eval/win_rate") == ([1, 2], [0.25, 0.75])
    for damaged, line in ((whole[:-3], 3), (whole.replace(b",0.25", b""), 2), (whole.replace(b"0.25", b"0,25"), 2)):
        log.path.write_bytes(damaged)
        with pytest.raises(UserError, match=f"line {line} is cut short"):
            LoggedMetrics(tmp_path)


def test_patterns_document_names_that_depend_on_the_composition():
    assert is_documented("final/random/win_rate")
    assert not is_documented("final/random/charm")
    assert all(METRICS.values())


def test_a_table_is_cut_into_the_cells_that_the_csv_module_finds():
    for text in ("a,b,c\r\n1,,3\r\n,,\r\n", 'a,"b",c\n1,"2,5",3\n4,5,6\n', "a\n1\n2\n", "a,b\n1,é\n", "", "a,b\n"):
        table = CsvTable(text.encode() + b"9,9", "x")  # the last line is not complete
        assert (table.rows(), table.cut) == (list(csv.DictReader(io.StringIO(text, newline=""))), [])
        assert len(table) == len(table.rows())
    table = CsvTable(b"a,b\n1,2\n3\n\n4,5,6\n7,8\n,9\n", "x")
    assert table.cut == [3, 5], "an empty line is none"
    assert table.columns(["b", "a"]) == [[b"2", b"8", b"9"], [b"1", b"7", b""]]
    assert table.rows("a") == [{"a": "1", "b": "2"}, {"a": "7", "b": "8"}]
